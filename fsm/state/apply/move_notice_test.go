package apply_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// listen gathers what a cluster makes known.
func listen(c *statetest.Cluster) *[]model.Notice {
	list := &[]model.Notice{}
	c.Told = func(more []model.Notice) { *list = append(*list, more...) }
	return list
}

func kinds(list []model.Notice) (out []string) {
	for i := range list {
		out = append(out, list[i].Kind.String())
	}
	return out
}

func wants(t *testing.T, list *[]model.Notice, want ...string) {
	t.Helper()
	if got := kinds(*list); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	*list = nil
}

func TestNoticesOfAJob(t *testing.T) {
	c := statetest.New(t)
	told := listen(c)
	n := c.Node("n1", 2)
	wants(t, told, "node.registered")
	a := c.Place(c.Submit(1))
	c.Start(a)
	first := (*told)[0]
	if first.Job != 1 || first.User != "alice" || first.Name != "train" || first.Actor != "user:alice" || first.Ordinal != 1 ||
		first.Life != model.LifeOf(c.State.Settings().Incarnation) || first.Since != first.At {
		t.Errorf("told %+v", first)
	}
	wants(t, told, "job.queued", "job.scheduled", "job.started")
	c.Exit(a, 3)
	if last := (*told)[0]; last.Reason != model.ReasonExit || last.Detail != "exit code 3" {
		t.Errorf("told %+v", last)
	}
	wants(t, told, "job.failed")
	n.Clean()
	b := c.Place(c.Submit(1))
	c.Do(&command.Cancel{Job: b.Job, Task: model.AllTasks, Note: "enough"})
	wants(t, told, "job.queued", "job.scheduled")
	c.Start(b)
	n.Lose(b.Rank(0))
	wants(t, told, "job.started", "node.suspect", "job.canceled")
	n.Renew()
	wants(t, told, "node.back")
}

func TestNoticesOfAnArray(t *testing.T) {
	c := statetest.New(t)
	told := listen(c)
	c.Node("n1", 2)
	*told = nil
	id := c.Submit(1, array(2, 0))
	c.Do(&command.Cancel{Job: id, Task: 0})
	c.Do(&command.Cancel{Job: id, Task: 1})
	parts := []bool{}
	for _, n := range *told {
		parts = append(parts, n.Part)
	}
	if want := []bool{false, true, true, false}; !slices.Equal(parts, want) {
		t.Errorf("parts are %v, want %v", parts, want)
	}
	if last := (*told)[3]; last.Detail != "2 tasks: 0 completed, 0 failed, 2 canceled" {
		t.Errorf("told %q", last.Detail)
	}
	wants(t, told, "job.queued", "job.canceled", "job.canceled", "job.canceled")
}

func TestNoticesOfNodesAndGPUs(t *testing.T) {
	c := statetest.New(t)
	told := listen(c)
	n := c.Node("n1", 2)
	*told = nil
	n.Suspect()
	n.Renew()
	wants(t, told, "node.suspect", "node.back")
	c.Do(&command.SetNodeMode{Node: "n1", Mode: model.ModeDraining, Note: "repair"})
	wants(t, told, "node.draining", "node.drained")
	c.Do(&command.SetNodeMode{Node: "n1", Mode: model.ModeOpen})
	a := c.Place(c.Submit(1))
	c.Start(a)
	*told = nil
	c.Do(&command.SetNodeMode{Node: "n1", Mode: model.ModeDraining})
	wants(t, told, "node.draining")
	c.Exit(a, 0)
	wants(t, told, "node.drained", "job.completed")
	health := func(h model.Health) {
		n.Inventory(func(d *model.Device) {
			if d.ID == "n1-1" {
				d.Health = h
			}
		})
	}
	health(model.HealthQuarantined)
	health(model.HealthDegraded)
	health(model.HealthHealthy)
	if first := (*told)[0]; first.GPU != "n1-1" || first.Node != "n1" {
		t.Errorf("told %+v", first)
	}
	wants(t, told, "gpu.quarantined", "gpu.back", "gpu.health")
}

func TestNoticesOfAnAllocation(t *testing.T) {
	c := statetest.New(t)
	told := listen(c)
	n := c.Node("n1", 4)
	*told = nil
	c.Do(&command.Allocate{
		ID: "svc-1", Service: "agents", User: "alice", Class: model.ClassHigh, Priority: 7, GPUs: 2, TTL: time.Minute,
		Webhook: "http://service:8080/gpu-allocated",
	})
	c.Wait(5 * time.Second)
	c.Do(&command.Grant{ID: "svc-1", Decided: c.State.Index, Placement: command.Placement{
		Node: "n1", Epoch: n.Epoch(), Slots: []model.SlotKey{{GPU: "n1-1"}, {GPU: "n1-3"}},
	}})
	granted := (*told)[1]
	if granted.Places != "1 3" || granted.Node != "n1" || granted.Priority != 7 || granted.At.Sub(granted.Since) != 5*time.Second {
		t.Errorf("told %+v", granted)
	}
	if c.State.Outgoing.Len() != 1 {
		t.Errorf("%d deliveries wait", c.State.Outgoing.Len())
	}
	c.Do(&command.ReleaseAllocation{ID: "svc-1"})
	wants(t, told, "allocation.queued", "allocation.granted", "allocation.released")
	if c.State.Outgoing.Len() != 1 {
		t.Errorf("%d deliveries wait: the release of GPUs is not notified", c.State.Outgoing.Len())
	}
}

// The first entry of another term announces the leader.
func TestNoticeOfALeader(t *testing.T) {
	s := statetest.New(t).State
	c, err := command.New("user:alice", &command.SetRunning{Running: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []struct {
		term uint64
		want int
	}{{1, 0}, {2, 1}, {2, 0}, {5, 1}} {
		next, _, changes := apply.Apply(s, state.Meta{Index: s.Index + 1, Term: v.term, At: s.Settings().Clock, By: "p2"}, []command.Command{c})
		if len(changes.Notices) != v.want || v.want == 1 && (changes.Notices[0].Kind != model.NoticeLeader || changes.Notices[0].Peer != "p2") {
			t.Errorf("entry %d of term %d tells %+v", i, v.term, changes.Notices)
		}
		s = next
	}
}

// A queue that goes up and down about the threshold is announced once each way.
func TestNoticeOfABacklog(t *testing.T) {
	c := statetest.New(t)
	told := listen(c)
	c.Do(&command.SetNotify{Notify: model.Notify{Backlog: 4}})
	var ids []model.JobID
	for range 5 {
		ids = append(ids, c.Submit(1))
	}
	cancel := func() {
		c.Do(&command.Cancel{Job: ids[0], Task: model.AllTasks})
		ids = ids[1:]
	}
	only := func(want ...string) {
		t.Helper()
		got := slices.DeleteFunc(kinds(*told), func(k string) bool { return !strings.HasPrefix(k, "queue.") })
		if !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
		*told = nil
	}
	only("queue.backlog")
	cancel()
	only()
	cancel()
	only("queue.backlog_over")
	c.Submit(1)
	only("queue.backlog")
	c.Do(&command.SetNotify{})
	only()
}

// A near time limit is announced once for each attempt.
func TestNearLimit(t *testing.T) {
	c := statetest.New(t)
	told := listen(c)
	n := c.Node("n1", 1)
	limited := func(b *command.Submit) { b.Spec.TimeLimit, b.Spec.MaxRetries = time.Hour, 1 }
	a := c.Place(c.Submit(1, limited))
	near := &command.NearLimit{Attempts: []model.AttemptKey{a, {Job: 99, N: 1}}}
	if r := c.Do(near); r.Number != 0 {
		t.Errorf("%d were told of before they ran", r.Number)
	}
	c.Start(a)
	*told = nil
	for i, want := range []uint64{1, 0} {
		if r := c.Do(near); r.Number != want {
			t.Errorf("time %d: %d were told of", i, r.Number)
		}
	}
	wants(t, told, "job.near_limit")
	if !c.State.Warned.Has(a) {
		t.Error("it is not remembered")
	}
	c.Exit(a, 1)
	n.Clean()
	if c.State.Warned.Len() != 0 {
		t.Error("it is remembered of an attempt that has ended")
	}
	c.Wait(time.Minute)
	b := c.Place(1)
	c.Start(b)
	*told = nil
	near.Attempts = []model.AttemptKey{b}
	c.Do(near)
	wants(t, told, "job.near_limit")
}

// What is made known is the same wherever the log is applied, also after a snapshot.
func TestNoticesAreTheSameOnReplay(t *testing.T) {
	run := func(cut bool) (out []string) {
		c := statetest.New(t)
		told := listen(c)
		n := c.Node("n1", 4)
		for i := range 6 {
			if cut && i == 3 {
				c.State = again(t, &c.State)
			}
			a := c.Place(c.Submit(1))
			c.Start(a)
			c.Exit(a, int32(i%2))
			n.Clean()
		}
		for _, v := range *told {
			out = append(out, fmt.Sprintf("%+v", v))
		}
		return out
	}
	if a, b := run(false), run(true); !slices.Equal(a, b) || len(a) < 20 {
		t.Errorf("told\n%v\nand\n%v", a, b)
	}
}
