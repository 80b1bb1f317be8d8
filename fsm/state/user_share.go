package state

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of one user's part of what all share. A tenth of each bound of the whole is reserved for operators,
// so that an operator can work whatever users have filled.
const (
	MaxJobBytes      = 512 << 20 // of the jobs that have not ended, of all users; see command.Submit.Bytes
	MaxJobBytesOf    = 64 << 20  // of one user
	MaxEndedBytes    = 256 << 20 // of the jobs that have ended: more leave the state as soon as they are archived
	MaxAllocationsOf = MaxAllocations / 10
	MaxWebhooksOf    = 32   // that one caller made for users and projects
	MaxTokensOf      = 100  // valid tokens of one user
	MaxPendingKept   = 2000 // deliveries that may wait for webhooks of the whole cluster only, which operators make
	operatorPart     = 10
	sharedQueue      = 1000 // a queue of so many tasks or more is shared: half of it for one user at most
)

// queueShare returns how many waiting tasks one user without a limit of the user's own may have, and how many
// all users but operators may have, if the cluster may have limit.
func queueShare(limit int64) (user, all int64) {
	if limit == model.Unlimited || limit < sharedQueue {
		return limit, limit
	}
	return limit / 2, limit - limit/operatorPart
}

// withinShares checks that a submission leaves room for other users and for operators.
func withinShares(t *tx, b *command.Submit) command.Result {
	whole, user := model.ScopeKey{Kind: model.ScopeCluster}, model.ScopeKey{Kind: model.ScopeUser, Name: b.Spec.User}
	all, _ := t.usage.get(whole)
	own, _ := t.usage.get(user)
	size, most := uint64(b.Bytes()), uint64(MaxJobBytes)
	if b.Capped {
		most -= most / operatorPart
	}
	switch {
	case own.Bytes+size > MaxJobBytesOf:
		return refuse(model.CodeLimit, "the jobs of user %s that have not ended take %d bytes of memory, with their scripts and environments, this adds "+
			"%d, and one user may have %d: wait until some have ended, or put large texts into files", b.Spec.User, own.Bytes, size, MaxJobBytesOf)
	case all.Bytes+size > most:
		return refuse(model.CodeLimit, "all jobs that have not ended take %d bytes of memory, with their scripts and environments, this adds %d, and "+
			"there may be %d: wait until some have ended", all.Bytes, size, most)
	case b.Capped && t.settings.EndedBytes+size > 2*MaxEndedBytes:
		return refuse(model.CodeLimit, "the ended jobs that are not in the archives of a majority of the peers yet take %d bytes of memory, and there "+
			"may be %d: try again in some seconds, and have an operator look at the archives if this lasts", t.settings.EndedBytes, 2*MaxEndedBytes)
	}
	limit, found := t.limits.get(whole)
	if !found {
		return ok()
	}
	mayHave, mayAll := queueShare(limit.Queued)
	if !b.Capped {
		mayAll = model.Unlimited // checked with the other limits
	}
	if mine, found := t.limits.get(user); found && mine.Queued != model.Unlimited {
		mayHave = model.Unlimited
	}
	switch {
	case Exceeds(mayHave, own.Queued, b.Tasks):
		return refuse(model.CodeLimit, "user %s has %d tasks waiting, this adds %d, and one user may have half of the %d that the cluster may have: "+
			"wait until some have started, or have queued set for the user", b.Spec.User, own.Queued, b.Tasks, limit.Queued)
	case Exceeds(mayAll, all.Queued, b.Tasks):
		return refuse(model.CodeLimit, "%d tasks wait in the cluster, this adds %d, and of the %d that may wait a tenth is kept for operators: "+
			"wait until some have started, or have max_queue_size of the cluster raised", all.Queued, b.Tasks, limit.Queued)
	}
	return ok()
}

// countBytes keeps the sums of Job.Bytes.
func countBytes(t *tx, old, next *model.Job) {
	if t.restoring {
		return
	}
	bytes := func(j *model.Job, ended bool) uint64 {
		if j == nil || (j.EndIndex > 0) != ended {
			return 0
		}
		return uint64(j.Bytes)
	}
	t.settings.EndedBytes += bytes(next, true) - bytes(old, true) // wrap-around subtracts
	if was, is := bytes(old, false), bytes(next, false); was != is {
		job := next
		if job == nil {
			job = old
		}
		use(t, &job.Spec, func(u *model.Usage) { u.Bytes += is - was })
	}
}
