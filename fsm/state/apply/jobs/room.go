package jobs

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// queueShare returns how many waiting tasks one user without a limit of the user's own may have, and how many
// all users but operators may have, if the cluster may have limit.
func queueShare(limit int64) (user, all int64) {
	if limit == model.Unlimited || limit < state.SharedQueue {
		return limit, limit
	}
	return limit / 2, limit - limit/state.OperatorPart
}

// withinShares checks that a submission leaves room for other users and for operators.
func withinShares(t *tx.Tx, b *command.Submit) command.Result {
	whole, user := model.ScopeKey{Kind: model.ScopeCluster}, model.ScopeKey{Kind: model.ScopeUser, Name: b.Spec.User}
	all, _ := t.Usage.Get(whole)
	own, _ := t.Usage.Get(user)
	size, most := uint64(b.Bytes()), uint64(state.MaxJobBytes)
	if b.Capped {
		most -= most / state.OperatorPart
	}
	switch {
	case own.Bytes+size > state.MaxJobBytesOf:
		return tx.Refuse(model.CodeLimit, "the jobs of user %s that have not ended take %d bytes of memory, with their scripts and environments, this adds "+
			"%d, and one user may have %d: wait until some have ended, or put large texts into files", b.Spec.User, own.Bytes, size, state.MaxJobBytesOf)
	case all.Bytes+size > most:
		return tx.Refuse(model.CodeLimit, "all jobs that have not ended take %d bytes of memory, with their scripts and environments, this adds %d, and "+
			"there may be %d: wait until some have ended", all.Bytes, size, most)
	case b.Capped && t.Settings.EndedBytes+size > 2*state.MaxEndedBytes:
		return tx.Refuse(model.CodeLimit, "the ended jobs that are not in the archives of a majority of the peers yet take %d bytes of memory, and there "+
			"may be %d: try again in some seconds, and have an operator look at the archives if this lasts", t.Settings.EndedBytes, 2*state.MaxEndedBytes)
	}
	limit, found := t.Limits.Get(whole)
	if !found {
		return tx.OK()
	}
	mayHave, mayAll := queueShare(limit.Queued)
	if !b.Capped {
		mayAll = model.Unlimited // checked with the other limits
	}
	if mine, found := t.Limits.Get(user); found && mine.Queued != model.Unlimited {
		mayHave = model.Unlimited
	}
	switch {
	case state.Exceeds(mayHave, own.Queued, b.Tasks):
		return tx.Refuse(model.CodeLimit, "user %s has %d tasks waiting, this adds %d, and one user may have half of the %d that the cluster may have: "+
			"wait until some have started, or have queued set for the user", b.Spec.User, own.Queued, b.Tasks, limit.Queued)
	case state.Exceeds(mayAll, all.Queued, b.Tasks):
		return tx.Refuse(model.CodeLimit, "%d tasks wait in the cluster, this adds %d, and of the %d that may wait a tenth is kept for operators: "+
			"wait until some have started, or have max_queue_size of the cluster raised", all.Queued, b.Tasks, limit.Queued)
	}
	return tx.OK()
}
