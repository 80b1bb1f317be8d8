package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// An allocation without an id is numbered, never twice with the same number.
func TestAllocationsAreNumbered(t *testing.T) {
	l := placed(t, 1)
	ask := func() command.Command {
		return l.Command(&command.Allocate{Service: "training", User: "alice", Class: model.ClassNormal, GPUs: 1})
	}
	results := l.Entry(ask(), ask(), ask())
	seen := map[model.AllocationID]bool{}
	for _, r := range results {
		id := model.AllocationOf("training", r.Number)
		if _, found := l.State.Allocations.Get(id); !found || seen[id] || !r.OK() {
			t.Errorf("%+v names %s, which is there %t", r, id, found)
		}
		seen[id] = true
	}
	for _, service := range []string{"", "a b", "a/b", "ä", strings.Repeat("x", 101)} {
		b := &command.Allocate{Service: service, User: "alice", Class: model.ClassNormal, GPUs: 1}
		if b.Validate() == nil {
			t.Errorf("a service may be called %q", service)
		}
	}
}

// What is allocated for a job is allocated once at a time, and ends with the job.
func TestAllocatedForAJob(t *testing.T) {
	l := placed(t, 1)
	ask := &command.Allocate{Service: "job", For: "1", Job: 1, User: "alice", Class: model.ClassNormal, GPUs: 1}
	id := model.AllocationOf("job", l.Do(ask).Number)
	wantCode(t, l.Try(ask), model.CodeConflict)
	if a, found := state.AllocatedFor(&l.State, "1"); !found || a.ID != id {
		t.Errorf("for job 1 there is %+v, %t", a, found)
	}
	l.Do(&command.Grant{ID: id, Placement: command.Placement{Node: "n1", Epoch: l.n1.Epoch(), Slots: []model.SlotKey{{GPU: "n1-1"}}}})
	expire := &command.ExpireAllocations{IDs: []model.AllocationID{id}}
	l.Wait(48 * time.Hour)
	if r := l.Do(expire); r.Number != 0 {
		t.Error("it has ended before its job")
	}
	l.Start(l.a)
	l.Exit(l.a, 0)
	if r := l.Do(expire); r.Number != 1 {
		t.Error("it has not ended with its job")
	}
	if _, found := state.AllocatedFor(&l.State, "1"); found {
		t.Error("it is still there for job 1")
	}
	wantCode(t, l.Try(ask), model.CodeTerminal)
	ask.For, ask.Job = "of another system", 0
	l.Do(ask)
	if _, found := state.AllocatedFor(&l.State, "1"); found {
		t.Error("another's is there for job 1")
	}
}

// The state holds a bounded number of allocations.
func TestAllocationsAreBounded(t *testing.T) {
	l := placed(t, 1)
	l.Unchecked = true
	for n := 0; n < state.MaxAllocations; {
		var batch []command.Command
		for ; len(batch) < 500 && n < state.MaxAllocations; n++ {
			batch = append(batch, l.Command(&command.Allocate{Service: "s", User: "alice", Class: model.ClassNormal, GPUs: 1}))
		}
		l.Entry(batch...)
	}
	wantCode(t, l.Try(&command.Allocate{Service: "s", User: "alice", Class: model.ClassNormal, GPUs: 1}), model.CodeLimit)
}

func TestWebhookURLs(t *testing.T) {
	for text, allowed := range map[string]bool{
		"http://your-service:8080/gpu-allocated": true, "https://example.org": true, "http://[::1]:8080/x?y=1": true,
		"ftp://example.org": false, "example.org/x": false, "http://": false, "http://user:secret@example.org/": false,
		"http://example.org/\n": false, "javascript:alert(1)": false, "http://example.org/" + strings.Repeat("x", 2048): false,
	} {
		b := &command.Allocate{Service: "s", User: "alice", Class: model.ClassNormal, GPUs: 1, Webhook: text}
		if (b.Validate() == nil) != allowed {
			t.Errorf("%q: %v, want it allowed: %t", text, b.Validate(), allowed)
		}
	}
}
