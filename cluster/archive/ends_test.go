package archive

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// Ended jobs are listed newest first, over several transactions, from any place on, until the caller stops.
func TestEnds(t *testing.T) {
	r := newRig(t, "p1")
	a := r.archives["p1"]
	var want []HistoryKey // newest first
	for range 3 {
		id := r.end()
		job, _ := r.s.Jobs.Get(id)
		want = append([]HistoryKey{{Index: job.EndIndex, Job: id}}, want...)
	}
	many := r.do(statetest.Job(1, func(b *command.Submit) { b.Tasks = state.HistoryTasks + 5 })).Job
	r.do(&command.Cancel{Job: many, Task: model.AllTasks})
	job, _ := r.s.Jobs.Get(many)
	want = append([]HistoryKey{{Index: job.EndIndex, Job: many, Part: 1}, {Index: job.EndIndex, Job: many}}, want...)
	r.settle("p1")
	show := func(before HistoryKey, most int) (got []HistoryKey) {
		t.Helper()
		err := a.Ends(t.Context(), before, func(e Ended) bool {
			if e.Outline.Job.ID != e.Key.Job || len(e.Outline.Tasks) == 0 || len(e.Outline.Events) > 0 {
				t.Errorf("%+v: %+v", e.Key, e.Outline)
			}
			got = append(got, e.Key)
			return len(got) < most
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	last := HistoryKey{Index: 1<<64 - 1}
	if got := show(last, 99); !slices.Equal(got, want) {
		t.Errorf("all are %v, want %v", got, want)
	}
	if got := show(last, 2); !slices.Equal(got, want[:2]) {
		t.Errorf("two are %v, want %v", got, want[:2])
	}
	if got := show(want[2], 99); !slices.Equal(got, want[3:]) {
		t.Errorf("before %v are %v, want %v", want[2], got, want[3:])
	}
	if got := show(HistoryKey{}, 99); got != nil {
		t.Errorf("before everything: %v", got)
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.ErrUnsupported)
	if err := a.Ends(over, last, func(Ended) bool { return true }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("with a context that is over: %v", err)
	}
}

// More than one transaction shows is shown whole, each part once.
func TestEndsOverSeveralTransactions(t *testing.T) {
	r := newRig(t, "p1")
	for range 2*endsStep + 3 {
		r.end()
	}
	for more := true; more; { // it keeps so many a round
		was := r.archives["p1"].Standing()
		more = r.settle("p1") != was
	}
	next := uint64(2*endsStep + 3)
	err := r.archives["p1"].Ends(t.Context(), HistoryKey{Index: 1<<64 - 1}, func(e Ended) bool {
		if uint64(e.Key.Job) != next {
			t.Fatalf("job %s comes where job %d is next", e.Key.Job, next)
		}
		next--
		return true
	})
	if err != nil || next != 0 {
		t.Errorf("%d jobs are left, %v", next, err)
	}
}
