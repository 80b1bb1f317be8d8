package queue

import (
	"math/rand/v2"
	"testing"
	"time"
	"unique"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// The credit of those at the front comes back on the smallest cluster, too.
func TestCreditComesBack(t *testing.T) {
	const began = model.Time(1e18)
	for gpus := int64(1); gpus <= 8; gpus++ {
		steer := model.Steer{Credit: -1, At: began, Spent: true}
		if c := creditOf(&steer, gpus, began.Add(time.Hour)); !c.Spent || c.Left != gpus*900-1 {
			t.Errorf("%d GPUs after an hour: %+v", gpus, c)
		}
		if c := creditOf(&steer, gpus, began.Add(24*time.Hour)); c.Spent || c.Left != gpus*creditHours*3600 {
			t.Errorf("%d GPUs after a day: %+v", gpus, c)
		}
	}
}

// Whose credit is spent has to save up most of it first, and who has most of it may spend all.
func TestCreditIsSavedUp(t *testing.T) {
	const gpus, most = 8, 8 * creditHours * 3600
	for spent, least := range map[bool]int64{true: most/10*9 + 1, false: 0} {
		for left := range int64(most) {
			if c := creditOf(&model.Steer{Credit: left, At: 1e18, Spent: spent}, gpus, 1e18); c.Spent != (left < least) {
				t.Fatalf("with %d of %d GPU-seconds left, spent before: %v: %+v", left, most, spent, c)
			}
		}
	}
}

// Who holds GPUs at the front pays for every moment, however short the time between two passes is.
func TestCreditIsSpentInMoments(t *testing.T) {
	steer := model.Steer{Credit: 10_000, At: 1e18, Rate: 8}
	for range 1000 {
		at := steer.At.Add(900 * time.Millisecond)
		steer.Credit, steer.At = creditOf(&steer, 8, at).Left, at
	}
	if spent := 10_000 - steer.Credit; spent < 5000 || spent > 6000 { // 900 s of 6 GPUs
		t.Errorf("%d GPU-seconds are spent", spent)
	}
}

// Where run times have been right nothing is drained: what is there ends when it is expected to.
func TestDrains(t *testing.T) {
	var s state.State
	o := &Ordering{State: &s, Now: model.Time(1e18), Tuning: model.DefaultTuning()}
	k := state.QueueKey{Run: unique.Make(state.Run{}), Since: o.Now.Add(-drainAfter*o.Tuning.WaitBound - time.Hour)}
	for trust := range uint64(fullTrust + 1) {
		if o.trust = trust; o.Drains(k) != (trust < fullTrust) {
			t.Errorf("with %d fourths of trust: %v", trust, o.Drains(k))
		}
	}
}

// The order, the front of the line and the shares count a wait alike: by [model.Task.AgeAt], whatever the task has run and ceded.
func TestAgesAgree(t *testing.T) {
	r, key := rand.New(rand.NewPCG(1, 1)), model.TaskKey{Job: 1}
	hours := func(most int) time.Duration { return time.Duration(r.IntN(most+1)) * time.Hour }
	for range 500 {
		now := model.Time(1e18)
		task := model.Task{
			Key: key, State: model.TaskQueued, Class: model.ClassNormal, Since: now.Add(hours(20) - 18*time.Hour),
			Executed: hours(3),
		}
		task.Ceded, task.Attempts = min(hours(3), task.Executed), 1
		job := model.Job{ID: 1, Spec: model.Spec{User: "ann", GPUs: 1}}
		a := model.Attempt{Key: task.Newest(), Placed: now.Add(-hours(4))}
		var s state.State
		k := state.KeyOf(&task, &job)
		s.Tasks, s.Jobs, s.Attempts, s.Queue = rowsOf(key, task), rowsOf(job.ID, job), rowsOf(a.Key, a), rowsOf(k, state.None{})
		o := &Ordering{State: &s, Now: now, Tuning: model.DefaultTuning()}
		want := task.AgeAt(now)
		if got := o.waited(k); got != want {
			t.Fatalf("in the order %+v has waited %s, want %s", task, got, want)
		}
		if got := waitsOf(o)[model.ShareKey{User: "ann"}]; got != max(want, 1) {
			t.Fatalf("for its user %+v has waited %s, want %s", task, got, want)
		}
		if got, want := o.waitedOf(key, k), task.AgeAt(a.Placed); got != want {
			t.Fatalf("when it was placed %+v had waited %s, want %s", task, got, want)
		}
	}
}

func rowsOf[K table.Key[K], R comparable](key K, row R) table.Table[K, R] {
	draft := table.Table[K, R]{}.Fork()
	draft.Put(key, row)
	return draft.Table()
}
