package fleet

import (
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// speaker checks that a report is from the node's present agent.
func speaker(t *tx.Tx, id model.NodeID, i model.Incarnation, epoch uint64) (model.Node, command.Result) {
	n, found := t.Nodes.Get(id)
	switch {
	case i != t.Settings.Incarnation:
		return n, tx.Refuse(model.CodeStaleIncarnation, "the cluster was restored since: node %s must register again", id)
	case !found || n.Epoch != epoch:
		return n, command.Result{
			Code: model.CodeStaleEpoch, Number: n.Epoch,
			Detail: "node " + string(id) + " must register again",
		}
	}
	return n, tx.OK()
}

// Report takes over what an agent reports of its ranks and GPUs.
func Report(t *tx.Tx, b *command.Report) command.Result {
	if _, r := speaker(t, b.Node, b.Incarnation, b.Epoch); !r.OK() {
		return r
	}
	r := command.Result{Verdicts: make([]model.Code, 0, len(b.Reports))}
	for i := range b.Reports {
		r.Verdicts = append(r.Verdicts, progress(t, b.Node, &b.Reports[i]))
	}
	for i := range b.Cleaned {
		cleaned(t, b.Node, &b.Cleaned[i])
	}
	return r
}

// progress moves a rank by its node's report. A report that is old or repeated changes nothing and is
// answered as if it were new, so that the node drops it.
func progress(t *tx.Tx, node model.NodeID, p *model.Progress) model.Code {
	r, found := t.Ranks.Get(p.Rank)
	switch {
	case !found:
		return model.CodeNotFound
	case r.Node != node:
		return model.CodeDenied
	case r.Phase == model.RankLost:
		lateExit(t, r, p)
		return model.CodeOK
	case r.Phase == model.RankRunning && p.Phase == model.RankRunning && p.Saved > r.Saved:
		r.Saved = p.Saved
		t.Ranks.Put(r)
		return model.CodeOK
	case r.Phase.Ended(), r.Phase >= p.Phase:
		return model.CodeOK
	case r.Phase == model.RankRunning && p.Phase == model.RankNever:
		return model.CodeConflict
	}
	switch p.Phase {
	case model.RankTaken, model.RankReady, model.RankRunning:
		advance(t, r, p)
		if p.Phase == model.RankRunning {
			placement.Started(t, node, t.Clock)
		}
	case model.RankExited:
		if r.Phase < model.RankRunning && !p.Exit.Refused { // it has started and ended since the last report
			begun := *p
			begun.Phase = model.RankRunning
			advance(t, r, &begun)
			r = t.Ranks.Must(p.Rank)
			placement.Started(t, node, t.Clock.Add(-p.Exit.Ran))
		}
		r.Phase, r.Exit = model.RankExited, p.Exit
		if p.Exit.Refused {
			refused(t, r, p)
		}
		placement.EndRank(t, r)
	case model.RankNever:
		r.Phase = model.RankNever
		refused(t, r, p)
		placement.EndRank(t, r)
	case model.RankAssigned, model.RankLost:
		return model.CodeInvalid
	}
	return model.CodeOK
}

// refused notes that a node did not start a rank.
func refused(t *tx.Tx, r model.Rank, p *model.Progress) {
	a := t.Attempts.Must(r.Key.Attempt())
	if a.Stop != model.ReasonNone {
		return
	}
	task := t.Tasks.Must(r.Key.Attempt().TaskKey())
	tx.Event(t, &task, model.Event{What: model.EventRefused, N: r.Key.N, Detail: model.Clip(string(r.Node) + ": " + p.Detail)})
	t.Tasks.Put(task)
	if n := t.Nodes.Must(r.Node); !p.Excused && n.Trouble == "" {
		placement.CountRefusal(t, &r, p.Detail)
	}
}

// advance moves a living rank, and with its last rank the attempt.
func advance(t *tx.Tx, r model.Rank, p *model.Progress) {
	a := t.Attempts.Must(r.Key.Attempt())
	if r.Phase < model.RankReady && p.Phase >= model.RankReady {
		a.Ready++
	}
	if p.Phase == model.RankReady {
		r.Address, r.Port = p.Address, p.Port
	}
	if p.Phase == model.RankRunning {
		a.Begun++
		r.Started = t.Clock
	}
	r.Phase = p.Phase
	t.Ranks.Put(r)

	opens := a.Ready == a.Ranks && !a.Run && a.Stop == model.ReasonNone
	a.Run = a.Run || opens
	was := a.State
	switch {
	case a.Begun == a.Ranks:
		a.State = model.TaskRunning
	case a.State == model.TaskScheduled:
		a.State = model.TaskAllocating
	}
	if a.State != was && a.State == model.TaskRunning {
		a.Started = t.Clock
	}
	t.Attempts.Put(a)
	if opens {
		placement.TouchRanks(t, a.Key)
	}
	if a.State != was {
		follow(t, &a)
	}
}

// follow moves the task to the state of its attempt.
func follow(t *tx.Tx, a *model.Attempt) {
	task := t.Tasks.Must(a.Key.TaskKey())
	task.State = a.State
	what := model.EventAllocating
	if a.State == model.TaskRunning {
		what = model.EventRunning
		if task.Started == 0 {
			task.Started = t.Clock
			task.Waited = task.NotRunAt(t.Clock)
			t.Settings.Totals.Started++
			t.Settings.Totals.Waited += task.Waited
			tx.TallySpan(t, tally.Wait, "", task.Waited)
		}
	}
	tx.Event(t, &task, model.Event{What: what, N: a.Key.N})
	t.Tasks.Put(task)
}

// lateExit applies the true end of a rank that had been given up. If the task still waits for a successor and
// every rank of the attempt has reported its end after all, that end counts; otherwise it is only recorded. A rank that
// never ran has no such end.
func lateExit(t *tx.Tx, r model.Rank, p *model.Progress) {
	if p.Phase != model.RankExited || p.Exit.Refused || r.Late {
		return
	}
	r.Exit, r.Late = p.Exit, true
	t.Ranks.Put(r)
	placement.CountGPUTime(t, &r)
	task := t.Tasks.Must(r.Key.Attempt().TaskKey())
	tx.Event(t, &task, model.Event{What: model.EventLateExit, N: r.Key.N})
	t.Tasks.Put(task)

	a := t.Attempts.Must(r.Key.Attempt())
	if task.State != model.TaskQueued || task.Newest() != a.Key || !a.End.Gone() {
		return
	}
	a.FirstRank = 0
	job := t.Jobs.Must(a.Key.Job)
	led := false // rank 0, with which the job ends, has ended by itself
	var ran, counted time.Duration
	for _, v := range tx.RanksOf(t, a.Key) {
		ran = max(ran, v.Exit.Ran)
		if !v.Late {
			counted = max(counted, v.Exit.Ran)
		}
		switch {
		case v.Phase == model.RankLost && !v.Late:
			return
		case led:
		case v.NeverRan(), v.Exit.Fenced, v.Exit.Delivered != model.ReasonNone:
			return
		case !v.Exit.Clean() && a.FirstRank == 0:
			a.FirstRank, a.ExitCode, a.Signal = v.Key.Rank+1, v.Exit.Code, v.Exit.Signal
		}
		led = led || job.Spec.Lead && v.Key.Rank == 0
	}
	a.End, a.Cause, a.State = model.ReasonExit, model.ReasonExit, model.TaskCompleted
	if a.FirstRank > 0 {
		a.State = model.TaskFailed
	}
	task.Lost--
	task.Wasted -= a.Wasted
	t.Settings.Totals.Wasted -= uint64(a.Wasted / time.Second)
	placement.SumUp(t, &a, tx.RanksOf(t, a.Key))
	t.Attempts.Put(a)
	task.Executed -= counted
	t.Tasks.Put(task)
	t.Settings.Totals.Lost--
	placement.Settle(t, a, ran)
}

// cleaned frees a slot on its node's confirmation that nothing of its last owner is left there or will come
// back.
func cleaned(t *tx.Tx, node model.NodeID, c *model.Cleaned) {
	slot, found := t.Slots.Get(c.Slot)
	if !found || slot.Node != node || slot.Rank != c.Rank || slot.Allocation != c.Allocation {
		return
	}
	if slot.Owner == model.OwnerCleaning || slot.Owner == model.OwnerForeign {
		freeSlot(t, slot)
	}
}

func freeSlot(t *tx.Tx, slot model.Slot) {
	t.Slots.Put(model.Slot{Key: slot.Key, Node: slot.Node, Since: t.Meta.Index})
	tx.TouchNode(t, slot.Node)
}

// Inventory takes over the GPUs that an agent has found, what troubles its node and whose accounts that lacks.
func Inventory(t *tx.Tx, b *command.Inventory) command.Result {
	n, r := speaker(t, b.Node, b.Incarnation, b.Epoch)
	if !r.OK() {
		return r
	}
	if missing := strings.Join(b.Missing, "\n"); n.Trouble != b.Trouble || n.Missing != missing {
		recovers := n.Trouble != "" && b.Trouble == ""
		n.Trouble, n.Missing = b.Trouble, missing
		t.Nodes.Put(n)
		if recovers {
			placement.ForgetRefusals(t, n.ID) // the trouble was the cause of those that came before its report
		}
	}
	return devices(t, b.Node, b.Devices)
}
