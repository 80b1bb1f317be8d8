package apply_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/fsm/state/table"
)

const noProlog = "the node's prolog /p failed: exit status 3"

func nodeRow(c *statetest.Cluster, id model.NodeID) *model.Node {
	n, _ := c.State.Nodes.Get(id)
	return &n
}

// neverStarts has a node refuse the next attempt of a new job. One job after the other is of another user.
func neverStarts(c *statetest.Cluster, why string) model.JobID {
	job := c.Submit(1, of([]string{"ann", "bob"}[c.State.Settings().NextJob%2]))
	refuses(c, c.Place(job), why)
	return job
}

func refuses(c *statetest.Cluster, a model.AttemptKey, why string) {
	c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankNever, Detail: why})
}

// resting returns a cluster of a node that rests, and of which all GPUs are clean.
func resting(t *testing.T) (*statetest.Cluster, *statetest.Agent) {
	t.Helper()
	c := statetest.New(t)
	n := c.Node("n1", 8)
	for range model.MaxRefusals {
		neverStarts(c, noProlog)
	}
	n.Clean()
	return c, n
}

// A node that does not start job after job gets no work for a while, then one job at a time, until one starts. No job is
// charged for that, and the next attempt keeps off the node.
func TestANodeThatRefusesStartsRests(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 8)
	told := listen(c)
	*told = nil
	var last model.JobID
	for range model.MaxRefusals {
		if nodeRow(c, "n1").Rests != 0 {
			t.Fatal("the node rests too soon")
		}
		last = neverStarts(c, noProlog)
	}
	n1 := nodeRow(c, "n1")
	if !n1.Degraded() || n1.Schedulable() || !strings.Contains(n1.Why(), noProlog) || c.State.FitGPUs != 0 {
		t.Fatalf("the node is %+v", n1)
	}
	if one := task(c, last); one.State != model.TaskQueued || one.Retries != 0 || one.Avoid != 1 {
		t.Fatalf("its job is %+v", one)
	}
	if got := strings.Join(kinds(*told), " "); strings.Count(got, "node.degraded") != 1 {
		t.Errorf("announced are %s", got)
	}

	c.Wait(30 * time.Second)
	n.Renew()
	if nodeRow(c, "n1").Schedulable() {
		t.Error("it takes work after half of its rest")
	}
	c.Wait(30 * time.Second)
	n.Renew()
	if !nodeRow(c, "n1").Schedulable() || !nodeRow(c, "n1").Degraded() {
		t.Errorf("after its rest it is %+v", nodeRow(c, "n1"))
	}
	trial, second := c.Submit(1, of("cat")), c.Submit(1)
	a := c.Place(trial)
	wantCode(t, c.Try(&command.Place{
		Attempt: model.TaskKey{Job: second}.Attempt(1),
		Ranks:   []command.Placement{{Node: "n1", Epoch: n.Epoch(), Slots: []model.SlotKey{{GPU: "n1-7"}}}},
	}), model.CodeUnavailable)
	refuses(c, a, noProlog)
	if got := nodeRow(c, "n1"); got.Rests != c.Now.Add(2*time.Minute) {
		t.Errorf("after a further refusal it rests until %s", got.Rests.Time())
	}
	c.Wait(2 * time.Minute)
	n.Renew()
	*told = nil
	c.Start(c.Place(second))
	if got := nodeRow(c, "n1"); got.Degraded() || got.Refusals != 0 || got.Refusal != "" || !got.Schedulable() {
		t.Errorf("after a start it is %+v", got)
	}
	if got := strings.Join(kinds(*told), " "); !strings.Contains(got, "node.recovered") {
		t.Errorf("announced are %s", got)
	}
}

// However long it takes a node to refuse the job that it was given after its rest, that counts, and meanwhile the node gets
// no other.
func TestARefusalThatTakesLongerThanTheRest(t *testing.T) {
	t.Parallel()
	c, n := resting(t)
	for rest := time.Minute; rest <= 4*time.Minute; rest *= 2 {
		c.Wait(rest)
		n.Renew()
		a := c.Place(c.Submit(1, of(rest.String())))
		c.Wait(rest + time.Minute)
		n.Renew()
		if nodeRow(c, "n1").Schedulable() {
			t.Fatal("it takes work before it is known what becomes of the first job")
		}
		refuses(c, a, noProlog)
		if got := nodeRow(c, "n1"); got.Rests != c.Now.Add(2*rest) {
			t.Fatalf("after a rest of %s and a late refusal at %s it rests until %s", rest, c.Now.Time(), got.Rests.Time())
		}
	}
	c.Wait(8 * time.Minute)
	n.Renew()
	gone := c.Submit(1)
	a := c.Place(gone)
	c.Wait(time.Hour)
	c.Do(cancel(gone))
	refuses(c, a, "")
	n.Renew()
	if got := nodeRow(c, "n1"); !got.Schedulable() || !got.Degraded() {
		t.Errorf("after a job that was canceled before it started the node is %+v", got)
	}
}

// No user alone takes a node from the others: of starts of one user's jobs that fail in a row only the first counts. While no
// job of another user waits three count, for a short rest.
func TestRefusalsOfOneUser(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 8)
	fails := func(user string) *model.Node {
		refuses(c, c.Place(c.Submit(1, of(user))), noProlog)
		n.Clean()
		return nodeRow(c, "n1")
	}
	other := c.Submit(1, of("bob"))
	for range 6 {
		if got := fails("eve"); got.Refusals != 1 || !got.Schedulable() || got.Degraded() {
			t.Fatalf("after jobs of one user the node is %+v", got)
		}
	}
	c.Do(cancel(other))
	fails("eve")
	if got := fails("eve"); got.Refusals != model.MaxRefusals || got.Rests != c.Now.Add(time.Minute) || !got.Degraded() {
		t.Errorf("after jobs of the only user the node is %+v", got)
	}
	c.Wait(time.Minute)
	n.Renew()
	if got := fails("eve"); got.Refusals != model.MaxRefusals || got.Rests != c.Now.Add(time.Minute) {
		t.Errorf("after a further one the node is %+v", got)
	}
	c.Wait(time.Minute)
	n.Renew()
	if got := fails("bob"); got.Refusals != model.MaxRefusals+1 || got.Rests != c.Now.Add(2*time.Minute) {
		t.Errorf("after one of another user the node is %+v", got)
	}
}

// Only a start since the last refusal shows that a node starts jobs again: not the end of a rank that has run for long, and not
// that of one which began before, as far as the node tells.
func TestWhichStartsEndARest(t *testing.T) {
	t.Parallel()
	long, short := model.Exit{Code: 1, Ran: 10 * time.Minute}, model.Exit{Ran: 10 * time.Second}
	for name, v := range map[string]struct {
		runs bool // it was reported as running
		exit model.Exit
		ends bool
	}{
		"the end of one that runs":         {true, long, false},
		"a short one that runs":            {true, short, false},
		"one of which nothing was heard":   {false, long, false},
		"one that has begun and ended now": {false, short, true},
	} {
		c := statetest.New(t)
		n := c.Node("n1", 8)
		a := c.Place(c.Submit(1))
		if v.runs {
			c.Start(a)
		}
		for range model.MaxRefusals {
			neverStarts(c, noProlog)
		}
		c.Wait(30 * time.Second)
		n.Renew()
		c.Report(exited(a.Rank(0), v.exit))
		if got := nodeRow(c, "n1"); got.Refuses() == v.ends || got.Schedulable() != v.ends {
			t.Errorf("%s: the node is %+v", name, got)
		}
	}
}

// What ends the rest of a node at once: an operator that opens it; another agent, whose first job decides.
func TestWhatEndsARest(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		does     func(*statetest.Cluster, *statetest.Agent)
		degraded bool
	}{
		"an operator opens it": {func(c *statetest.Cluster, _ *statetest.Agent) {
			c.Do(&command.SetNodeMode{Node: "n1", Mode: model.ModeOpen})
		}, false},
		"another agent": {func(_ *statetest.Cluster, n *statetest.Agent) {
			n.Register(func(b *command.Register) { b.Session = "session-2" })
		}, true},
	} {
		c, n := resting(t)
		v.does(c, n)
		if got := nodeRow(c, "n1"); !got.Schedulable() || got.Degraded() != v.degraded {
			t.Errorf("%s: the node is %+v", name, got)
		}
	}
}

// Refusals only count in a row; those of starts that came before the rest do not make it longer, and those that are for no
// reason of the node's, such as an account that one user lacks, do not count.
func TestWhichRefusalsCount(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 8)
	neverStarts(c, noProlog)
	neverStarts(c, noProlog)
	c.Start(c.Place(c.Submit(1)))
	if got := nodeRow(c, "n1").Refusals; got != 0 {
		t.Errorf("after a start %d count", got)
	}
	for range 4 {
		a := c.Place(c.Submit(1))
		c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankNever, Detail: "the user has no account", Excused: true})
		n.Clean()
	}
	if got := nodeRow(c, "n1"); got.Refusals != 0 || !got.Schedulable() {
		t.Errorf("after four accounts that are missing the node is %+v", got)
	}
	var all []model.AttemptKey
	for range 6 {
		all = append(all, c.Place(c.Submit(1, of([]string{"ann", "bob"}[len(all)%2]))))
	}
	c.Wait(time.Second)
	for _, a := range all {
		c.Report(exited(a.Rank(0), model.Exit{Code: 126, Refused: true}))
	}
	if got := nodeRow(c, "n1"); got.Refusals != model.MaxRefusals || got.Rests != c.Now.Add(time.Minute) {
		t.Errorf("after six at the same time the node is %+v", got)
	}
	for _, a := range all {
		if one, _ := c.State.Tasks.Get(a.TaskKey()); one.State != model.TaskQueued || one.Reason != model.ReasonStartDeadline ||
			one.Retries != 0 {
			t.Errorf("a job is %+v", one)
		}
	}
}

// A job that no node starts ends after a bounded number of attempts, with the reason.
func TestAJobThatNoNodeStartsFails(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 1)
	job := c.Submit(1)
	for range 100 {
		if task(c, job).State.Terminal() {
			break
		}
		c.Wait(2 * time.Hour)
		n.Renew()
		c.Report(model.Progress{Rank: c.Place(job).Rank(0), Phase: model.RankNever, Detail: noProlog})
		n.Clean()
	}
	wantTask(t, c, job, model.TaskFailed, model.ReasonStartDeadline)
	var end string
	for k, e := range c.State.Events.From(model.EventKey{Job: job}) {
		if k.Job == job && e.What == model.EventFailed {
			end = e.Detail
		}
	}
	if !strings.Contains(end, "n1: "+noProlog) {
		t.Errorf("its end says %q", end)
	}
	one := task(c, job)
	if got := state.RefusalIn(c.State.Events, &one); got != "n1: "+noProlog {
		t.Errorf("the last refusal is %q", got)
	}
}

// A node that does not even try is found by the deadline of starts.
func TestANodeThatStartsNothingInTimeIsAvoided(t *testing.T) {
	t.Parallel()
	l := placed(t, 8, onTwoNodes)
	l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankReady, Address: "10.0.0.9", Port: 4000})
	l.Do(&command.StartOverdue{Attempt: l.a})
	l.Report(model.Progress{Rank: l.a.Rank(0), Phase: model.RankNever})
	l.Report(model.Progress{Rank: l.a.Rank(1), Phase: model.RankNever})
	if a := attempt(l.Cluster, l.a); a.End != model.ReasonStartDeadline || a.FirstRank != 2 || nodeRow(l.Cluster, "n2").Refusals != 1 ||
		nodeRow(l.Cluster, "n1").Refusals != 0 {
		t.Errorf("the attempt is %+v", a)
	}
}

// A rank that its node has taken and whose process did not start has not run: the job has not started, and waits on.
func TestARefusedExitIsNoStart(t *testing.T) {
	t.Parallel()
	no := model.Exit{Code: 126, Refused: true}
	for _, phases := range [][]model.RankPhase{nil, {model.RankTaken}, {model.RankTaken, model.RankReady}} {
		l := placed(t, 8, onTwoNodes)
		told := listen(l.Cluster)
		for _, phase := range phases {
			l.Report(model.Progress{Rank: l.a.Rank(0), Phase: phase, Address: "10.0.0.9", Port: 4000})
		}
		l.Report(exited(l.a.Rank(0), no))
		l.Report(exited(l.a.Rank(1), no))
		one, a := task(l.Cluster, l.job), attempt(l.Cluster, l.a)
		if one.State != model.TaskQueued || one.Started != 0 || one.Waited != 0 || one.Retries != 0 || totals(l.Cluster).Started != 0 {
			t.Errorf("%v: the job is %+v", phases, one)
		}
		if a.End != model.ReasonStartDeadline || a.Started != 0 || a.Begun != 0 || rank(l.Cluster, l.a.Rank(0)).Started != 0 {
			t.Errorf("%v: the attempt is %+v", phases, a)
		}
		if got := strings.Join(kinds(*told), " "); strings.Contains(got, "job.started") {
			t.Errorf("%v: told %s", phases, got)
		}
		if got := tells(l.Cluster, l.job); slices.Contains(got, model.EventRunning) || !slices.Contains(got, model.EventRefused) {
			t.Errorf("%v: its timeline is %v", phases, got)
		}
	}
}

// What was asked of a job decides, even if its node could not have started it.
func TestAJobThatIsCanceledWhileItsNodeRefusesIt(t *testing.T) {
	t.Parallel()
	l := placed(t, 1)
	l.Do(cancel(l.job))
	l.Report(exited(l.a.Rank(0), model.Exit{Code: 126, Refused: true}))
	l.want(t, model.TaskCanceled, model.ReasonCancel)
}

// A rank that was given up and turns out to have never run is no failure of the job.
func TestALateRefusalIsNoEnd(t *testing.T) {
	t.Parallel()
	for name, ranks := range map[string]uint32{"the only rank": 1, "one of two": 2} {
		l := placed(t, 4*ranks, func(b *command.Submit) { b.Spec.Nodes = ranks })
		l.n1.Lose(l.a.Rank(0))
		l.n1.Register()
		if ranks > 1 {
			l.n2.Lose(l.a.Rank(1))
			l.n2.Register()
			l.Report(exited(l.a.Rank(1), model.Exit{Code: 3, Ran: time.Second}))
		}
		l.Report(exited(l.a.Rank(0), model.Exit{Code: 126, Refused: true}))
		if one := task(l.Cluster, l.job); one.State != model.TaskQueued || one.Lost != 1 || one.Reason != model.ReasonLost {
			t.Errorf("%s: the job is %+v", name, one)
		}
	}
}

// Users whose account a node lacks are those of its newest inventory.
func TestANodeLacksAccounts(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	n := c.Node("n1", 4)
	c.Node("n2", 4)
	said := func(users ...string) {
		c.Do(&command.Inventory{Node: "n1", Incarnation: statetest.Incarnation(1), Epoch: n.Epoch(), Devices: n.Body().Devices, Missing: users})
	}
	admits := func(user string) bool { row := nodeRow(c, "n1"); return row.Admits(user) }
	said("bob", "mo")
	if admits("mo") || admits("bob") || !admits("amy") || !admits("") || c.State.Whose("mo") != "mo" || c.State.Whose("amy") != "" {
		t.Errorf("the node is %+v", nodeRow(c, "n1"))
	}
	bare := c.State
	bare.Nodes = table.Table[model.NodeID, model.Node]{} // no node is looked at, however many lack accounts
	if got := bare.Whose("mo"); got != "mo" || bare.Whose("amy") != "" {
		t.Errorf("by the index alone mo is %q", got)
	}
	said("bob")
	if !admits("mo") || c.State.Whose("mo") != "" || c.State.Lacking.Len() != 1 {
		t.Error("an account that is there again is missing")
	}
	n.Register()
	if !admits("bob") || c.State.Lacking.Len() != 0 {
		t.Error("after a registration an account is missing")
	}
}
