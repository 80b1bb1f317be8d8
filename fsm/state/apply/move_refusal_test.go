package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

const noProlog = "the node's prolog /p failed: exit status 3"

func nodeRow(c *statetest.Cluster, id model.NodeID) *model.Node {
	n, _ := c.State.Nodes.Get(id)
	return &n
}

// neverStarts has a node refuse the next attempt of a new job.
func neverStarts(c *statetest.Cluster, why string) model.JobID {
	job := c.Submit(1)
	c.Report(model.Progress{Rank: c.Place(job).Rank(0), Phase: model.RankNever, Detail: why})
	return job
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
	trial, second := c.Submit(1), c.Submit(1)
	a := c.Place(trial)
	wantCode(t, c.Try(&command.Place{Attempt: model.TaskKey{Job: second}.Attempt(1), Ranks: []command.Placement{{Node: "n1", Epoch: n.Epoch(), Slots: []model.SlotKey{{GPU: "n1-7"}}}}}), model.CodeUnavailable)
	c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankNever, Detail: noProlog})
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
		c := statetest.New(t)
		n := c.Node("n1", 8)
		for range model.MaxRefusals {
			neverStarts(c, noProlog)
		}
		n.Clean()
		v.does(c, n)
		if got := nodeRow(c, "n1"); !got.Schedulable() || got.Degraded() != v.degraded {
			t.Errorf("%s: the node is %+v", name, got)
		}
	}
}

// Refusals only count in a row; those of starts that came before the rest do not make it longer, and an account that one
// user lacks says nothing about the jobs of others.
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
		c.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankNever, Detail: "the user has no account", NoAccount: true})
		n.Clean()
	}
	if got := nodeRow(c, "n1"); got.Refusals != 0 || !got.Schedulable() {
		t.Errorf("after four accounts that are missing the node is %+v", got)
	}
	var all []model.AttemptKey
	for range 6 {
		all = append(all, c.Place(c.Submit(1)))
	}
	c.Wait(time.Second)
	for _, a := range all {
		c.Report(exited(a.Rank(0), model.Exit{Code: 126, Refused: true}))
	}
	if got := nodeRow(c, "n1"); got.Refusals != model.MaxRefusals || got.Rests != c.Now.Add(time.Minute) {
		t.Errorf("after six at the same time the node is %+v", got)
	}
	for _, a := range all {
		if one, _ := c.State.Tasks.Get(a.TaskKey()); one.State != model.TaskQueued || one.Reason != model.ReasonStartDeadline || one.Retries != 0 {
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
	if a := attempt(l.Cluster, l.a); a.End != model.ReasonStartDeadline || a.FirstRank != 2 || nodeRow(l.Cluster, "n2").Refusals != 1 || nodeRow(l.Cluster, "n1").Refusals != 0 {
		t.Errorf("the attempt is %+v", a)
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
	said("bob")
	if !admits("mo") || c.State.Whose("mo") != "" {
		t.Error("an account that is there again is missing")
	}
	n.Register()
	if !admits("bob") || c.State.Private.Len() != 0 {
		t.Error("after a registration an account is missing")
	}
}
