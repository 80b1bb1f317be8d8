package placement

import (
	"fmt"
	"math"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Stop requests the end of an attempt: its nodes see the reason in their desired set, signal, wait for the
// grace time and kill. Only when they have reported how the ranks ended does the task move on.
func Stop(t *tx.Tx, key model.AttemptKey, why model.Reason, note string) {
	a, found := t.Attempts.Get(key)
	if !found || !a.Live() || (a.Stop != model.ReasonNone && !why.Outranks(a.Stop)) {
		return
	}
	a.Stop, a.StopAt, a.StopBy, a.StopNote = why, t.Clock, t.Actor, note
	t.Attempts.Put(a)
	task := t.Tasks.Must(key.TaskKey())
	tx.Event(t, &task, model.Event{What: model.EventStopping, N: key.N, Reason: why, Detail: note})
	t.Tasks.Put(task)
	TouchRanks(t, key)
}

// Ending returns why a live task does not return to the queue after its attempt, whatever is asked for now; none: it may.
func Ending(t *tx.Tx, task *model.Task) model.Reason {
	a, _ := t.Attempts.Get(task.Newest())
	switch {
	case !task.State.Live():
	case a.Stop == model.ReasonCancel, a.Stop == model.ReasonDeadline, a.Stop == model.ReasonTimeLimit, a.Stop == model.ReasonDiskLimit:
		return a.Stop
	}
	return model.ReasonNone
}

// HoldAfter has a task held if it returns to the queue after an attempt.
func HoldAfter(t *tx.Tx, key model.AttemptKey) {
	if a, found := t.Attempts.Get(key); found && a.Live() {
		a.Hold = true
		t.Attempts.Put(a)
	}
}

// TouchRanks marks the nodes of an attempt's ranks that have not ended.
func TouchRanks(t *tx.Tx, key model.AttemptKey) {
	for _, r := range tx.RanksOf(t, key) {
		if !r.Phase.Ended() {
			tx.TouchNode(t, r.Node)
		}
	}
}

// EndRank ends a rank by its Phase: its GPUs have to be verified as clean, the rest of its gang is stopped if
// it broke, and the attempt is over when it was the last.
func EndRank(t *tx.Tx, r model.Rank) {
	t.Ranks.Put(r)
	for _, key := range tx.SlotsOf(t, r.Key.Attempt()) {
		slot := t.Slots.Must(key)
		if slot.Rank == r.Key {
			slot.Owner, slot.Since = model.OwnerCleaning, t.Meta.Index
			t.Slots.Put(slot)
		}
	}
	tx.TouchNode(t, r.Node)
	tx.AnnounceDrained(t, r.Node)
	CountGPUTime(t, &r)

	a := t.Attempts.Must(r.Key.Attempt())
	a.Gone++
	led := leadEnded(t, a.Key)
	if broke(&r, a.Stop) && a.FirstRank == 0 && (!led || r.Key.Rank == 0) {
		a.FirstRank, a.Cause = r.Key.Rank+1, causeOf(&r, a.Stop)
	}
	t.Attempts.Put(a)
	switch {
	case a.Gone == a.Ranks:
		finish(t, a)
	case led:
		Stop(t, a.Key, model.ReasonLeadEnded, "rank 0 has ended, and the job ends with that")
	case a.FirstRank > 0:
		Stop(t, a.Key, model.ReasonGangBroken, "rank "+r.Key.String()+" "+a.Cause.String())
	}
}

// leadEnded reports whether an attempt is decided by the end of its rank 0: the job ends with that rank, which has ended by itself.
func leadEnded(t *tx.Tx, a model.AttemptKey) bool {
	job := t.Jobs.Must(a.Job)
	r := t.Ranks.Must(a.Rank(0))
	return job.Spec.Lead && endedItself(&r)
}

// endedItself reports whether a rank's first process ended before the signal of any stop reached the rank.
func endedItself(r *model.Rank) bool {
	return r.Phase == model.RankExited && !r.NeverRan() && r.Exit.Delivered == model.ReasonNone && !r.Exit.Fenced
}

// CountGPUTime adds the GPU time of a rank that has ended to the totals.
func CountGPUTime(t *tx.Tx, r *model.Rank) {
	t.Settings.Totals.GPUSeconds += uint64(r.Exit.Ran/time.Second) * uint64(r.GPUs)
}

// broke reports whether a rank's end is one that its gang does not survive. A rank that did not start after a
// stop was requested has only obeyed.
func broke(r *model.Rank, asked model.Reason) bool {
	if r.NeverRan() {
		return asked == model.ReasonNone
	}
	switch r.Phase {
	case model.RankLost:
		return true
	case model.RankExited:
		return r.Exit.Fenced || r.Exit.Delivered == model.ReasonDiskLimit || (r.Exit.Delivered == model.ReasonNone && !r.Exit.Clean())
	case model.RankAssigned, model.RankTaken, model.RankReady, model.RankRunning, model.RankNever:
	}
	return false
}

func causeOf(r *model.Rank, asked model.Reason) model.Reason {
	switch {
	case r.Phase == model.RankLost:
		return r.Cause
	case r.NeverRan():
		return model.ReasonStartDeadline
	case r.Exit.Fenced:
		return model.ReasonLost
	case r.Exit.GPUFault, asked == model.ReasonGPUFault:
		return model.ReasonGPUFault
	}
	return model.ReasonExit
}

// finish ends an attempt whose ranks have all ended, and moves its task on.
//
// A stop decides the outcome if its signal reached a rank, or if the end of a rank is not
// known; when every rank ended by itself before any signal, the exits decide. Of a job that ends with rank 0 that
// rank alone decides, if it ended by itself.
func finish(t *tx.Tx, a model.Attempt) {
	ranks := tx.RanksOf(t, a.Key)
	why, signaled := a.Stop, false
	var ran time.Duration
	for i := range ranks {
		r := &ranks[i]
		signaled = signaled || !endedItself(r)
		if r.Exit.Delivered.Outranks(why) {
			why = r.Exit.Delivered
		}
		ran = max(ran, r.Exit.Ran)
	}
	if leadEnded(t, a.Key) {
		signaled = false
		a.FirstRank, a.Cause = 0, model.ReasonNone
		if lead := &ranks[0]; broke(lead, model.ReasonNone) {
			a.FirstRank, a.Cause = 1, causeOf(lead, a.Stop)
		}
	}
	if !signaled || why == model.ReasonNone || why == model.ReasonGangBroken {
		why = model.ReasonExit
		if a.FirstRank > 0 {
			why = a.Cause
			first := ranks[min(int(a.FirstRank-1), len(ranks)-1)]
			a.ExitCode, a.Signal = first.Exit.Code, first.Exit.Signal
		}
	}
	a.End, a.Ended, a.Secret = why, t.Clock, model.Hash{}
	a.State = model.TaskCanceled
	switch {
	case why == model.ReasonExit && a.FirstRank == 0:
		a.State = model.TaskCompleted
	case why == model.ReasonExit || why == model.ReasonTimeLimit || why >= model.ReasonLost:
		a.State = model.TaskFailed
	}
	SumUp(t, &a, ranks)
	t.Attempts.Put(a)
	Settle(t, a, ran)
}

// SumUp sums up what an attempt's ranks did with their GPU time.
func SumUp(t *tx.Tx, a *model.Attempt, ranks []model.Rank) {
	a.Wasted = wasted(t, a, ranks)
	a.Watched, a.Idle = 0, 0
	for i := range ranks {
		a.Watched += ranks[i].Exit.Watched
		a.Idle += ranks[i].Exit.Idle
	}
}

// wasted returns the GPU time of an attempt that did not complete, from the last checkpoint on that any rank
// of it announced. A rank that was given up counts until then. Thousands of GPUs for some weeks are more than
// the longest Duration, which is the result then.
func wasted(t *tx.Tx, a *model.Attempt, ranks []model.Rank) time.Duration {
	if a.State == model.TaskCompleted {
		return 0
	}
	var saved time.Duration
	var sum int64 // GPU-milliseconds
	for i := range ranks {
		saved = max(saved, ranks[i].Saved, ranks[i].Exit.Saved)
	}
	for i := range ranks {
		r := &ranks[i]
		ran := r.Exit.Ran
		if r.Phase == model.RankLost && !r.Late && r.Started > 0 {
			ran = t.Clock.Sub(r.Started)
		}
		sum += max(ran-saved, 0).Milliseconds() * int64(r.GPUs)
	}
	return time.Duration(min(sum, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// Bounds of retries.
const (
	backoffFirst = 10 * time.Second
	backoffMax   = time.Hour
	maxLost      = 16 // attempts of a task that broken machines may end
)

// Settle moves a task on after its newest attempt has ended.
func Settle(t *tx.Tx, a model.Attempt, ran time.Duration) {
	task := t.Tasks.Must(a.Key.TaskKey())
	job := t.Jobs.Must(a.Key.Job)
	compare(t, &task, &job.Spec, &a, task.Executed, ran)
	task.Executed += ran
	task.Wasted += min(a.Wasted, math.MaxInt64-task.Wasted)
	t.Settings.Totals.Wasted += uint64(a.Wasted / time.Second)
	if ran > 0 {
		tx.TallySpan(t, tally.Run, endName(&a), ran)
	}
	task.Reason, task.ExitCode, task.Signal = a.End, a.ExitCode, a.Signal
	if task.Held = task.Held || a.Hold; task.Held {
		task.Pause(t.Clock)
	}
	learn(t, &job, &a, ran)
	e := model.Event{N: a.Key.N, Reason: a.End}
	switch a.End {
	case model.ReasonCancel:
		e.What = model.EventCanceled
		EndTask(t, task, model.TaskCanceled, e)
	case model.ReasonTimeLimit, model.ReasonDeadline, model.ReasonDiskLimit:
		e.What, e.Detail = model.EventFailed, diskDetail(t, &a)
		EndTask(t, task, model.TaskFailed, e)
	case model.ReasonPreempt, model.ReasonDrain:
		if task.Preempted++; a.End == model.ReasonPreempt {
			task.Ceded += ran
		}
		t.Settings.Totals.Preempted++
		sendBack(t, task, 0, e)
	case model.ReasonRequeue:
		sendBack(t, task, 0, e)
	case model.ReasonExit:
		settleExit(t, task, &job, a, e)
	case model.ReasonGPUFault, model.ReasonStartDeadline:
		avoid(&task, &a)
		settleLost(t, task, a, e)
	case model.ReasonNone, model.ReasonGangBroken, model.ReasonLeadEnded, model.ReasonLost, model.ReasonRebooted,
		model.ReasonConfirmedDead, model.ReasonDependency:
		settleLost(t, task, a, e)
	}
}

// diskDetail describes which ranks of an attempt exceeded their share of a node's disk; "" if none did.
func diskDetail(t *tx.Tx, a *model.Attempt) string {
	for _, r := range tx.RanksOf(t, a.Key) {
		if text := r.Exit.DiskText(); text != "" {
			return model.Clip("node " + string(r.Node) + ": " + text)
		}
	}
	return ""
}

func settleExit(t *tx.Tx, task model.Task, job *model.Job, a model.Attempt, e model.Event) {
	switch {
	case a.State == model.TaskCompleted:
		e.What = model.EventCompleted
		EndTask(t, task, model.TaskCompleted, e)
	case task.Retries < job.Spec.MaxRetries && a.Stop != model.ReasonCancel && job.Spec.Retries(firstEnd(t, &a)):
		wait := min(backoffFirst<<min(task.Retries, 9), backoffMax)
		task.Retries++
		avoid(&task, &a)
		sendBack(t, task, wait, e)
	default:
		e.What = model.EventFailed
		EndTask(t, task, model.TaskFailed, e)
	}
}

// avoid keeps a task off the GPUs of an attempt that failed, if it had any, or off the node that did not start it.
func avoid(task *model.Task, a *model.Attempt) {
	if a.GPUs > 0 || a.End == model.ReasonStartDeadline {
		task.Avoid = a.Key.N
	}
}

// firstEnd returns the end of the rank that failed first.
func firstEnd(t *tx.Tx, a *model.Attempt) model.Exit {
	r := t.Ranks.Must(a.Key.Rank(max(a.FirstRank, 1) - 1))
	return r.Exit
}

// settleLost handles ends that are no fault of the job: not charged, but bounded.
func settleLost(t *tx.Tx, task model.Task, a model.Attempt, e model.Event) {
	task.Lost++
	t.Settings.Totals.Lost++
	switch {
	case a.End.Gone() && a.Frozen.OnLost == model.OnLostFail, task.Lost > maxLost:
		e.What = model.EventFailed
		if why := state.RefusalIn(t.Events.Now(), &task); task.Lost > maxLost && why != "" {
			e.Detail = model.Clip(fmt.Sprintf("%d starts failed on nodes, the last on %s", task.Lost, why))
		}
		EndTask(t, task, model.TaskFailed, e)
	case a.End == model.ReasonStartDeadline, a.End == model.ReasonGPUFault:
		sendBack(t, task, min(backoffFirst<<min(task.Lost-1, 9), backoffMax), e)
	default:
		sendBack(t, task, 0, e)
	}
}

// sendBack queues a task again, in its old place of the order.
func sendBack(t *tx.Tx, task model.Task, wait time.Duration, e model.Event) {
	task.State, task.NotBefore = model.TaskQueued, 0
	if wait > 0 {
		task.NotBefore = t.Clock.Add(wait)
	}
	e.What = model.EventRequeued
	tx.Event(t, &task, e)
	job := t.Jobs.Must(task.Key.Job)
	task.Expected = tx.Expect(t, &job.Spec, task.Executed)
	t.Tasks.Put(task)
}

// EndTask ends a task for good, and its job with the last one.
func EndTask(t *tx.Tx, task model.Task, as model.TaskState, e model.Event) {
	if job := t.Jobs.Must(task.Key.Job); job.Hinders(&task) || e.Reason == model.ReasonDependency {
		task.Since = max(task.Since, t.Clock) // it could never have run
	}
	task.State, task.Ended, task.Held, task.Waits, task.Avoid = as, t.Clock, false, false, 0
	tx.Event(t, &task, e)
	t.Tasks.Put(task)
	DropClaims(t, task.Key)
	switch n := &t.Settings.Totals; as {
	case model.TaskCompleted:
		n.Completed++
	case model.TaskFailed:
		n.Failed++
	case model.TaskCanceled:
		n.Canceled++
	case model.TaskQueued, model.TaskScheduled, model.TaskAllocating, model.TaskRunning:
	}
	if as == model.TaskCompleted {
		releaseTwins(t, task.Key)
	}
	if job := t.Jobs.Must(task.Key.Job); job.Open == 0 {
		job.Ended, job.EndIndex = t.Clock, t.Meta.Index
		Unbind(t, &job)
		t.Jobs.Put(job)
		tx.AnnounceArray(t, &job)
	}
}
