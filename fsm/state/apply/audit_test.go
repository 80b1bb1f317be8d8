package apply_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// trail applies entries and keeps what they add to the audit trail.
type trail struct {
	t     *testing.T
	s     state.State
	links []state.AuditLink
}

func newTrail(t *testing.T) *trail {
	r := &trail{t: t}
	r.do("peer:p1", &command.Bootstrap{
		Incarnation: statetest.Incarnation(1), Level: 1, Running: true, Policy: "fcfs", Retention: model.Retention{Age: model.MaxDuration},
	})
	return r
}

func (r *trail) do(actor string, bodies ...command.Body) []command.Result {
	r.t.Helper()
	var list []command.Command
	for _, b := range bodies {
		c, err := command.New(actor, b)
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, c.FromClient("192.0.2.7"))
	}
	return r.entry(list...)
}

func (r *trail) entry(list ...command.Command) []command.Result {
	m := state.Meta{Index: r.s.Index + 1, Term: 1, At: model.Time(r.s.Index+1) * 1e9, By: "p1"}
	next, results, changes := apply.Apply(r.s, m, list)
	if err := check.Step(&r.s, &next); r.s.Index > 0 && len(list) == 1 && err != nil {
		r.t.Error(err)
	}
	r.s, r.links = next, append(r.links, changes.Audit...)
	return results
}

func (r *trail) last() model.AuditRecord {
	r.t.Helper()
	record, err := state.DecodeAudit(r.links[len(r.links)-1].Record)
	if err != nil {
		r.t.Fatal(err)
	}
	return record
}

// Every command leaves one record with its result, carried out or refused, and the
// records are a chain from nothing to the head that the state names.
func TestAuditTrail(t *testing.T) {
	r := newTrail(t)
	r.do("user:ann", statetest.Job(1), &command.Hold{Job: 9, Task: model.AllTasks}, statetest.Job(2))
	r.do("user:bob", &command.Cancel{Job: 1, Task: model.AllTasks, Note: "no longer"})
	r.do("node:n1", &command.Renew{Renewals: []command.Renewal{{Node: "n1"}}})
	r.do("user:bob", &command.SetPolicy{Policy: "priority"})
	var got []string
	head := model.AuditHead{}
	for i, l := range r.links {
		record, err := state.DecodeAudit(l.Record)
		if err != nil {
			t.Fatal(err)
		}
		if l.Before != head.Hash || state.ChainAudit(head.Hash, l.Record) != l.Head.Hash || record.Seq != uint64(i+1) ||
			l.Head.Seq != record.Seq || l.Head.Index != record.Index || record.By != "p1" || record.At == 0 {
			t.Errorf("link %d is %+v of %+v after %+v", i, l.Head, record, head)
		}
		head = l.Head
		got = append(got, strings.Join([]string{
			record.Actor, record.From, command.Kind(record.Kind).String(), record.Target, record.Code.String(),
		}, " "))
	}
	want := []string{
		"peer:p1 192.0.2.7 bootstrap  ok",
		"user:ann 192.0.2.7 submit job 1 ok",
		"user:ann 192.0.2.7 hold job 9 not_found",
		"user:ann 192.0.2.7 submit job 2 ok",
		"user:bob 192.0.2.7 cancel job 1 ok",
		"user:bob 192.0.2.7 set_policy  ok",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the trail is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if is := r.s.Settings().Audit; is != head {
		t.Errorf("the head is %+v, want %+v", is, head)
	}
	if body, err := command.ShownBody(command.KindSetPolicy, r.last().Body); err != nil ||
		!reflect.DeepEqual(body, &command.SetPolicy{Policy: "priority"}) {
		t.Errorf("the policy that was set is kept as %+v: %v", body, err)
	}
}

// A request that comes again is on record as such, and what could not be read is too.
func TestAuditOfRepeatsAndRubbish(t *testing.T) {
	r := newTrail(t)
	c, err := command.New("user:ann", statetest.Job(1))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.WithRequest("r1"); err != nil {
		t.Fatal(err)
	}
	r.entry(c)
	if a := r.last(); a.Repeat || a.Request != "r1" || a.Target != "job 1" {
		t.Errorf("the first is %+v", a)
	}
	r.entry(c)
	if a := r.last(); !a.Repeat || a.Target != "job 1" || a.Code != model.CodeOK {
		t.Errorf("the second is %+v", a)
	}
	r.entry(command.Command{
		Actor: strings.Repeat("ü", 400), From: strings.Repeat("x", 900), Err: command.ErrTooLarge,
		Body: &command.Cancel{Job: 1},
	})
	if a := r.last(); a.Code != model.CodeMalformed || len(a.Actor) > 256 || len(a.From) > 256 || a.Target != "" ||
		!strings.HasPrefix(a.Actor, "ü") {
		t.Errorf("rubbish is on record as %+v", a)
	}
}

// The head lives through a snapshot, and what follows makes the same head.
func TestAuditAfterASnapshot(t *testing.T) {
	r := newTrail(t)
	r.do("user:ann", statetest.Job(1))
	var data bytes.Buffer
	if err := snapshot.Write(&r.s, &data); err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Read(&data)
	if err != nil {
		t.Fatal(err)
	}
	other := &trail{t: t, s: s}
	for _, one := range []*trail{r, other} {
		one.do("user:ann", &command.Cancel{Job: 1, Task: model.AllTasks})
	}
	if a, b := r.s.Settings().Audit, other.s.Settings().Audit; a != b || a.Seq != 3 {
		t.Errorf("the heads are %+v and %+v", a, b)
	}
}

// What is kept of a job brings back all that the state had of it, also of an array
// that takes several parts.
func TestHistories(t *testing.T) {
	l := running(t, 4, func(b *command.Submit) {
		b.Script, b.Env, b.Stdin = "#!/bin/sh", []string{"A=1"}, "aGVsbG8="
		b.SubmitEnv = []string{"HOME=/users/ann"}
	})
	l.Exit(l.a, 3)
	many := l.Submit(1, func(b *command.Submit) { b.Tasks = state.HistoryTasks + 1 })
	for id, want := range map[model.JobID]int{l.job: 1, many: 2, 99: 0} {
		parts := l.State.Histories(id)
		if len(parts) != want {
			t.Fatalf("job %s has %d parts, want %d", id, len(parts), want)
		}
		var back []state.History
		for i := range parts {
			data, err := parts[i].Encode()
			if err != nil {
				t.Fatal(err)
			}
			h, err := state.DecodeHistory(data)
			if err != nil || !reflect.DeepEqual(h, parts[i]) {
				t.Fatalf("part %d of job %s came back otherwise: %v", i, id, err)
			}
			back = append(back, h)
		}
		s := state.Recall(back...)
		again := s.Histories(id)
		if len(again) != want || want > 0 && !reflect.DeepEqual(again, parts) {
			t.Errorf("job %s is recalled as %d parts", id, len(again))
		}
	}
	s := state.Recall(l.State.Histories(l.job)...)
	if s.Jobs.Len() != 1 || s.Tasks.Len() != 1 || s.Attempts.Len() != 1 || s.Ranks.Len() == 0 || s.RankGPUs.Len() != 4 ||
		s.Blobs.Len() != 0 || s.Events.Len() == 0 {
		t.Errorf("recalled %d events, %d ranks, %d GPUs, %d blobs", s.Events.Len(), s.Ranks.Len(), s.RankGPUs.Len(), s.Blobs.Len())
	}
	if _, err := state.DecodeHistory([]byte("no history")); err == nil {
		t.Error("rubbish was read as a history")
	}
	if _, err := state.DecodeAudit([]byte{0xff, 0}); err == nil {
		t.Error("rubbish was read as a record")
	}
}
