package apply_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// again writes a state and reads it.
func again(t *testing.T, s *state.State) state.State {
	t.Helper()
	var b bytes.Buffer
	if err := snapshot.Write(s, &b); err != nil {
		t.Fatal(err)
	}
	out, err := snapshot.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func hook(id outbox.WebhookID, scope model.ScopeKey, kinds ...model.NoticeKind) *command.SetWebhook {
	set := model.NoticeSet(0)
	for _, k := range kinds {
		set = set.With(k)
	}
	if len(kinds) == 0 {
		set = model.AllNotices()
	}
	return &command.SetWebhook{Webhook: outbox.Webhook{
		ID: id, Scope: scope, URL: "https://example.com/" + string(id), Events: set, Secret: model.NewHookSecret([32]byte{1}),
	}}
}

func everyone() model.ScopeKey { return model.ScopeKey{Kind: model.ScopeCluster} }

// outgoing lists what waits, "outlet kind".
func outgoing(s *state.State) (out []string) {
	for k := range s.Outgoing.All() {
		d, _ := s.Deliveries.Get(k.Delivery)
		out = append(out, string(k.Delivery.Outlet)+" "+d.Notice.Kind.String())
	}
	return out
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("waiting is %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("waiting is %v, want %v", got, want)
		}
	}
}

// Each webhook gets what it asks for of those it is of, in the entry that made it known.
func TestWhoIsTold(t *testing.T) {
	c := statetest.New(t)
	c.Do(hook("all", everyone(), model.NoticeJobQueued, model.NoticeNodeRegistered))
	c.Do(hook("bob", model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}))
	c.Do(hook("vision", model.ScopeKey{Kind: model.ScopeProject, Name: "vision"}, model.NoticeJobCanceled))
	c.Node("n1", 1)
	c.Submit(1)
	equal(t, outgoing(&c.State), "webhook:all node.registered", "webhook:all job.queued")
	id := c.Submit(1, func(b *command.Submit) {
		b.Spec.User, b.Spec.Project = "bob", "vision"
		b.Spec.WebhookURL, b.Spec.Notify = "https://example.com/job", model.NoticeSet(0).With(model.NoticeJobCanceled)
	})
	c.Do(&command.Cancel{Job: id, Task: model.AllTasks})
	equal(t, outgoing(&c.State)[2:], "webhook:all job.queued", "webhook:bob job.queued", "job:2 job.canceled", "webhook:bob job.canceled",
		"webhook:vision job.canceled")
	s := again(t, &c.State)
	equal(t, outgoing(&s), outgoing(&c.State)...)
	c.Do(&command.DropWebhook{ID: "bob"})
	if r := c.Try(&command.DropWebhook{ID: "bob"}); r.Code != model.CodeNotFound {
		t.Errorf("removed twice: %s", r.Code)
	}
	equal(t, outgoing(&c.State)[2:], "webhook:all job.queued", "job:2 job.canceled", "webhook:vision job.canceled")
}

// Of an array the whole is announced, not every task.
func TestArraysAreToldAsAWhole(t *testing.T) {
	c := statetest.New(t)
	c.Do(hook("all", everyone()))
	id := c.Submit(1, array(50, 0))
	c.Do(&command.Cancel{Job: id, Task: model.AllTasks})
	equal(t, outgoing(&c.State), "webhook:all job.queued", "webhook:all job.canceled")
}

func mark(s *state.State, n int, change func(*command.Mark)) *command.MarkDeliveries {
	for k := range s.Outgoing.All() {
		if n--; n < 0 {
			d, _ := s.Deliveries.Get(k.Delivery)
			m := command.Mark{Key: k.Delivery, Tries: d.Tries + 1, OK: true, Status: 200}
			change(&m)
			return &command.MarkDeliveries{Marks: []command.Mark{m}}
		}
	}
	return &command.MarkDeliveries{Marks: []command.Mark{{Tries: 1}}}
}

func TestMarks(t *testing.T) {
	c := statetest.New(t)
	c.Do(hook("all", everyone()))
	c.Submit(1, func(b *command.Submit) {
		b.Spec.WebhookURL, b.Spec.Notify = "https://example.com/job", model.JobNotices()
	})
	b := mark(&c.State, 0, func(*command.Mark) {})
	for i, want := range []uint64{1, 0} { // a mark that comes twice counts once
		if r := c.Do(b); r.Number != want {
			t.Errorf("time %d: %d were noted", i, r.Number)
		}
	}
	if c.State.Outlets.Has(outbox.OfJob(1)) {
		t.Error("the job's address is kept though nothing waits for it")
	}
	later := c.Now.Add(time.Minute)
	c.Do(mark(&c.State, 0, func(m *command.Mark) { m.OK, m.Status, m.Error, m.Next = false, 500, "it answers 500", later }))
	for k := range c.State.Outgoing.All() {
		if d, _ := c.State.Deliveries.Get(k.Delivery); k.Next != later || d.Tries != 1 || d.Error != "it answers 500" {
			t.Errorf("after a failure it is %+v, due %d", d, k.Next)
		}
	}
	c.Do(mark(&c.State, 0, func(m *command.Mark) { m.OK, m.Next = false, model.Never }))
	out, _ := c.State.Outlets.Get(outbox.WebhookID("all").Outlet())
	if out.Pending != 0 || out.Dead != 1 || out.Delivered != 0 || c.State.Outgoing.Len() != 0 || c.State.Delivered.Len() != 2 {
		t.Errorf("at the end it is %+v", out)
	}
}

// A receiver that is away fills neither the state nor the room of others.
func TestTheOutboxIsBounded(t *testing.T) {
	c := statetest.New(t)
	c.Unchecked = true
	c.Do(hook("away", everyone(), model.NoticeJobQueued))
	for range outbox.MaxPendingOf + 50 {
		c.Submit(1)
	}
	out, _ := c.State.Outlets.Get(outbox.WebhookID("away").Outlet())
	if out.Pending != outbox.MaxPendingOf || out.Dropped != 50 {
		t.Errorf("%d wait, %d were dropped", out.Pending, out.Dropped)
	}
	if r := c.Try(&command.TestWebhook{ID: "away"}); r.Code != model.CodeLimit {
		t.Errorf("a trial on top of that: %s", r.Code)
	}
	if err := check.State(&c.State); err != nil {
		t.Error(err)
	}
	for range outbox.MaxPendingOf {
		c.Do(mark(&c.State, 0, func(*command.Mark) {}))
	}
	for range 10 {
		c.Submit(1)
		c.Do(mark(&c.State, 0, func(*command.Mark) {}))
	}
	if c.State.Delivered.Len() != outbox.MaxDelivered || c.State.Deliveries.Len() != outbox.MaxDelivered {
		t.Errorf("%d that ended are kept", c.State.Deliveries.Len())
	}
}

func TestWebhookTrial(t *testing.T) {
	c := statetest.New(t)
	c.Do(hook("one", model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}, model.NoticeJobFailed))
	if r := c.Try(&command.TestWebhook{ID: "other"}); r.Code != model.CodeNotFound {
		t.Errorf("a trial of none: %s", r.Code)
	}
	r := c.Do(&command.TestWebhook{ID: "one"})
	if r.Number != c.State.Index {
		t.Errorf("the trial is found under %d, it is %d", r.Number, c.State.Index)
	}
	equal(t, outgoing(&c.State), "webhook:one test")
}

// Again grows, is spread, and ends.
func TestAgain(t *testing.T) {
	at := model.Time(1_800_000_000_000_000_000)
	d := outbox.Delivery{Notice: model.Notice{At: at}}
	now, tries := at, 0
	for ; tries < 100; tries++ {
		low, high := d.Again(now, 0), d.Again(now, 1000)
		if low == model.Never {
			break
		}
		if wait := low.Sub(now); wait <= 0 || high < low {
			t.Fatalf("try %d: again after %s to %s", tries, wait, high.Sub(now))
		}
		now = high
		d.Tries++
	}
	if now != at.Add(outbox.Span) || tries < 15 || tries > 40 {
		t.Errorf("the last of %d tries is %s after it happened", tries, now.Sub(at))
	}
	d.Tries = 1 << 31
	if d.Again(at, 0).Sub(at) <= 0 {
		t.Error("many tries make it wait backwards")
	}
}
