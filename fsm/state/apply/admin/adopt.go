package admin

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/jobs"
	"github.com/berth-gpu/berth/fsm/state/apply/placement"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Adopt makes foreign attempts those of their tasks.
func Adopt(t *tx.Tx, b *command.Adopt) command.Result {
	for i := range b.Attempts {
		if r := adoptable(t, &b.Attempts[i]); !r.OK() {
			return r
		}
	}
	job, known := t.Jobs.Get(b.Job.ID)
	if !known {
		job.Spec = b.Job.Spec
	} else if r := adoptableBy(t, &job, b); !r.OK() {
		return r
	}
	if r := placement.MayAdopt(t, &job.Spec, b.Attempts); !r.OK() {
		return r
	}
	switch {
	case known:
	case b.Job.ID >= t.Settings.NextJob:
		return tx.Refuse(model.CodeConflict, "job %s is newer than what a restored cluster leaves free, up to job %s: kill its processes, or let them end", b.Job.ID, t.Settings.NextJob-1)
	default:
		addLost(t, b)
	}
	for i := range b.Attempts {
		placement.Adopt(t, &b.Attempts[i], b.Placed[i])
	}
	return command.Result{Job: b.Job.ID}
}

// adoptable returns why an attempt is no foreign one with these ranks.
func adoptable(t *tx.Tx, a *command.Place) command.Result {
	for i := range a.Ranks {
		p, rank := &a.Ranks[i], a.Attempt.Rank(uint32(i))
		node, found := t.Nodes.Get(p.Node)
		switch {
		case !found || node.Epoch != p.Epoch:
			return tx.Refuse(model.CodeConflict, "node %s is gone, or has registered since: ask again", p.Node)
		case len(p.Slots) == 0:
			return tx.Refuse(model.CodeInvalid, "rank %s has no GPUs: only attempts with GPUs are known as foreign", rank)
		}
		for _, key := range p.Slots {
			slot, _ := t.Slots.Get(key)
			if slot.Owner != model.OwnerForeign || slot.Node != p.Node || slot.Rank != rank {
				return tx.Refuse(model.CodeNotFound, "GPU %s of node %s is not held by the unknown attempt %s", key.GPU, p.Node, rank)
			}
			if slot.Kill {
				return tx.Refuse(model.CodeConflict, "attempt %s is being killed", a.Attempt)
			}
		}
	}
	for _, id := range tx.KeysOf(t.Slots.Now().All(), func(model.SlotKey) bool { return true }) {
		slot := t.Slots.Must(id)
		if slot.Owner == model.OwnerForeign && slot.Rank.Attempt() == a.Attempt && !names(a, &slot) {
			return tx.Refuse(model.CodeInvalid, "attempt %s also holds GPU %s of node %s: adopt all of it", a.Attempt, id.GPU, slot.Node)
		}
	}
	return tx.OK()
}

// names reports whether an attempt is to be adopted with a slot.
func names(a *command.Place, slot *model.Slot) bool {
	if int(slot.Rank.Rank) >= len(a.Ranks) {
		return false
	}
	for _, key := range a.Ranks[slot.Rank.Rank].Slots {
		if key == slot.Key {
			return true
		}
	}
	return false
}

// adoptableBy returns why attempts cannot become those of a job that the state knows.
func adoptableBy(t *tx.Tx, job *model.Job, b *command.Adopt) command.Result {
	if job.Spec.User != b.Job.Spec.User {
		return tx.Refuse(model.CodeConflict, "job %s is of user %s here, and the attempt of user %s: kill the attempt, or let it end", job.ID, job.Spec.User, b.Job.Spec.User)
	}
	if n := uint32(len(b.Attempts)); job.Throttle > 0 && job.Live+n > job.Throttle {
		return tx.Refuse(model.CodeLimit, "job %s runs at most %d of its tasks at once, and would run %d: adopt the attempts once others have ended, or kill them", job.ID, job.Throttle, job.Live+n)
	}
	for i := range b.Attempts {
		key := b.Attempts[i].Attempt
		task, found := t.Tasks.Get(key.TaskKey())
		switch {
		case !found:
			return tx.Refuse(model.CodeNotFound, "job %s has no task %s", job.ID, key.TaskKey())
		case task.State != model.TaskQueued:
			return tx.Refuse(model.CodeNotQueued, "task %s does not wait, it is %s: cancel or hold it first, or kill the unknown attempt", task.Key, task.State)
		case task.Attempts >= key.N:
			return tx.Refuse(model.CodeConflict, "task %s has had attempt %d since: kill the unknown attempt %d", task.Key, task.Attempts, key.N)
		}
	}
	return tx.OK()
}

// addLost adds a job that was submitted after the backup.
func addLost(t *tx.Tx, b *command.Adopt) {
	texts := &command.ImportJobs{Texts: b.Texts}
	script, env, stdin, shell := texts.Text(b.Job.Script), texts.Text(b.Job.Env), texts.Text(b.Job.Stdin), texts.Text(b.Job.SubmitEnv)
	job := model.Job{
		ID: b.Job.ID, Spec: b.Job.Spec, Tasks: b.Job.Tasks, Submitted: t.Clock, Index: t.Meta.Index,
		Script: jobs.KeepBlob(t, script), Env: jobs.KeepBlob(t, env), Stdin: jobs.KeepBlob(t, stdin), SubmitEnv: jobs.KeepBlob(t, shell),
	}
	job.Bytes = (&command.Submit{
		Spec: job.Spec, Script: script, Env: []string{env}, SubmitEnv: []string{shell}, Stdin: stdin,
		Tasks: job.Tasks,
	}).Bytes()
	job.Spec.Held, job.Spec.Begin = false, 0
	if job.Spec.TimeLimit == 0 {
		job.Spec.TimeLimit, _ = state.LongestTime(t.Limits.Get, &job.Spec)
	}
	next := t.Settings.NextJob
	jobs.Enqueue(t, &job, nil, nil, placement.FoundRunning)
	t.Settings.NextJob = next
}
