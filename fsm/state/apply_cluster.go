package state

import (
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// JumpAfterRestore keeps numbers that the lost past may have assigned from being assigned again.
const JumpAfterRestore = 1000

func applyBootstrap(t *tx, b *command.Bootstrap) command.Result {
	if !t.settings.Incarnation.IsZero() {
		return refuse(model.CodeBootstrapped, "the cluster has a state already")
	}
	if len(b.Limits) > 0 {
		if r := adjustLimit(t, model.ScopeKey{Kind: model.ScopeCluster}, b.Limits); !r.OK() {
			return r
		}
	}
	t.settings = model.Settings{
		Incarnation: b.Incarnation, Level: b.Level, Clock: t.clock, Running: b.Running, Policy: b.Policy,
		NextJob: 1, Retention: b.Retention, Tuning: b.Tuning, Pools: b.Pools, Defaults: b.Defaults, Notify: b.Notify,
	}
	if b.Tuning == (model.Tuning{}) {
		t.settings.Tuning = model.DefaultTuning()
	}
	return ok()
}

func applyRestored(t *tx, b *command.Restored) command.Result {
	if b.Incarnation == t.settings.Incarnation {
		return refuse(model.CodeConflict, "the cluster lives in that incarnation already: draw a new one")
	}
	t.settings.Incarnation, t.settings.Standstill = b.Incarnation, true
	t.settings.NextJob += JumpAfterRestore
	for _, id := range keysOf(t.nodes.now().All(), func(model.NodeID) bool { return true }) {
		n, _ := t.nodes.get(id)
		n.Epoch += JumpAfterRestore
		n.Status = model.NodeSuspect
		t.nodes.put(n)
		t.leases.put(model.Lease{Node: id, Epoch: n.Epoch, Index: t.meta.Index, At: t.clock})
		touchNode(t, id)
	}
	return ok()
}

func applyResume(t *tx, _ *command.Resume) command.Result {
	if t.settings.Import.Open {
		return refuse(model.CodeConflict, "state files are being imported: finish that first")
	}
	t.settings.Standstill = false
	return ok()
}

func applyAdvanceClock(*tx, *command.AdvanceClock) command.Result { return ok() }

func applyRaiseLevel(t *tx, b *command.RaiseLevel) command.Result {
	if b.Level < t.settings.Level {
		return refuse(model.CodeLevel, "the feature level is %d and never goes down", t.settings.Level)
	}
	for id, p := range t.peers.now().All() {
		if p.Level < b.Level {
			return refuse(model.CodeLevel, "peer %s knows feature level %d only: upgrade it first", id, p.Level)
		}
	}
	if b.Level > command.Level || t.peers.size() == 0 {
		return refuse(model.CodeLevel, "no peer is known to have feature level %d", b.Level)
	}
	t.settings.Level = b.Level
	return ok()
}

func applySetRunning(t *tx, b *command.SetRunning) command.Result {
	t.settings.Running = b.Running
	return ok()
}

func applySetPolicy(t *tx, b *command.SetPolicy) command.Result {
	t.settings.Policy = b.Policy
	return ok()
}

func applySetRetention(t *tx, b *command.SetRetention) command.Result {
	t.settings.Retention = b.Retention
	return ok()
}

func applySetDefaults(t *tx, b *command.SetDefaults) command.Result {
	t.settings.Defaults = b.Defaults
	return ok()
}

// applySetPeer refuses another folder for a known peer: a peer that has lost its folder has lost its votes,
// and must not be taken for the one that cast them.
func applySetPeer(t *tx, b *command.SetPeer) command.Result {
	if old, found := t.peers.get(b.Peer.ID); found && old.Folder != "" && old.Folder != b.Peer.Folder {
		return refuse(model.CodeConflict, "peer %s has data folder %s, not %s: a peer with a new folder needs a new id",
			b.Peer.ID, old.Folder, b.Peer.Folder)
	}
	t.peers.put(b.Peer)
	return ok()
}

func applyDropPeer(t *tx, b *command.DropPeer) command.Result {
	t.peers.delete(b.ID)
	return ok()
}

// applyRetire removes all of the jobs or none.
func applyRetire(t *tx, b *command.Retire) command.Result {
	if b.ArchivedTo > t.from.Index {
		return refuse(model.CodeConflict, "archived is said to be up to %d, which is not there yet", b.ArchivedTo)
	}
	for _, id := range b.Jobs {
		j, found := t.jobs.get(id)
		switch {
		case !found:
			return refuse(model.CodeNotFound, "job %s is not there", id)
		case j.Open > 0:
			return refuse(model.CodeConflict, "job %s has not ended", id)
		case j.EndIndex > b.ArchivedTo:
			return refuse(model.CodeConflict, "job %s ended at %d, archived is up to %d", id, j.EndIndex, b.ArchivedTo)
		case ownsSlots(t, id):
			return refuse(model.CodeConflict, "GPUs of job %s have not been shown clean", id)
		case isAwaited(t, id):
			return refuse(model.CodeConflict, "others wait for job %s", id)
		}
	}
	for _, id := range b.Jobs {
		forgetJob(t, id)
	}
	t.retired = append(t.retired, b.Jobs...)
	t.settings.ArchivedTo = max(t.settings.ArchivedTo, b.ArchivedTo)
	return command.Result{Number: uint64(len(b.Jobs))}
}

// ownsSlots reports whether any attempt of the job still holds a slot, even if only until it is clean.
func ownsSlots(t *tx, id model.JobID) bool {
	for k := range t.owners.now().From(OwnerKey{Rank: model.RankKey{Job: id}}) {
		return k.Rank.Job == id
	}
	return false
}

func forgetJob(t *tx, id model.JobID) {
	j, found := t.jobs.get(id)
	if !found {
		return
	}
	for _, k := range keysOf(t.events.now().From(model.EventKey{Job: id}), func(k model.EventKey) bool { return k.Job == id }) {
		t.events.delete(k)
	}
	for _, k := range keysOf(t.ranks.now().From(model.RankKey{Job: id}), func(k model.RankKey) bool { return k.Job == id }) {
		forgetRank(t, k)
	}
	for _, k := range keysOf(t.attempts.now().From(model.AttemptKey{Job: id}), func(k model.AttemptKey) bool { return k.Job == id }) {
		t.attempts.delete(k)
	}
	for _, k := range keysOf(t.tasks.now().From(model.TaskKey{Job: id}), func(k model.TaskKey) bool { return k.Job == id }) {
		t.tasks.delete(k)
	}
	for _, d := range dependenciesOf(t, id) {
		t.dependencies.delete(d.Key)
	}
	dropBlob(t, j.Script)
	dropBlob(t, j.Env)
	dropBlob(t, j.Stdin)
	t.jobs.delete(id)
}
