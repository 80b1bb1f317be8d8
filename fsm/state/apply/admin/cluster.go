package admin

import (
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/limits"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// Bootstrap gives an empty state its identity and first settings.
func Bootstrap(t *tx.Tx, b *command.Bootstrap) command.Result {
	if !t.Settings.Incarnation.IsZero() {
		return tx.Refuse(model.CodeBootstrapped, "the cluster has a state already")
	}
	if len(b.Limits) > 0 {
		if r := limits.AdjustLimit(t, model.ScopeKey{Kind: model.ScopeCluster}, b.Limits); !r.OK() {
			return r
		}
	}
	t.Settings = model.Settings{
		Incarnation: b.Incarnation, Level: b.Level, Clock: t.Clock, Running: b.Running, Policy: b.Policy,
		NextJob: 1, Retention: b.Retention, Tuning: b.Tuning, Pools: b.Pools, Defaults: b.Defaults, Notify: b.Notify,
	}
	if b.Tuning == (model.Tuning{}) {
		t.Settings.Tuning = model.DefaultTuning()
	}
	return tx.OK()
}

// Restored gives a state from a backup a new incarnation. Numbers skip those that the lost entries may have given,
// every node is suspect, and scheduling stands still until Resume.
func Restored(t *tx.Tx, b *command.Restored) command.Result {
	if b.Incarnation == t.Settings.Incarnation {
		return tx.Refuse(model.CodeConflict, "the cluster lives in that incarnation already: draw a new one")
	}
	t.Settings.Incarnation, t.Settings.Standstill = b.Incarnation, true
	t.Settings.NextJob += state.JumpAfterRestore
	for _, id := range tx.KeysOf(t.Nodes.Now().All(), func(model.NodeID) bool { return true }) {
		n := t.Nodes.Must(id)
		n.Epoch += state.JumpAfterRestore
		n.Status = model.NodeSuspect
		t.Nodes.Put(n)
		t.Leases.Put(model.Lease{Node: id, Epoch: n.Epoch, Index: t.Meta.Index, At: t.Clock})
		tx.TouchNode(t, id)
	}
	return tx.OK()
}

// Resume ends the standstill after Restored and after an import.
func Resume(t *tx.Tx, _ *command.Resume) command.Result {
	if t.Settings.Import.Open {
		return tx.Refuse(model.CodeConflict, "state files are being imported: finish that first")
	}
	t.Settings.Standstill = false
	return tx.OK()
}

// AdvanceClock moves the clock, which every entry does; the command permits a step that is longer than others may
// be.
func AdvanceClock(*tx.Tx, *command.AdvanceClock) command.Result { return tx.OK() }

// RaiseLevel raises the feature level, once every peer knows the new one.
func RaiseLevel(t *tx.Tx, b *command.RaiseLevel) command.Result {
	if b.Level < t.Settings.Level {
		return tx.Refuse(model.CodeLevel, "the feature level is %d and never goes down", t.Settings.Level)
	}
	for id, p := range t.Peers.Now().All() {
		if p.Level < b.Level {
			return tx.Refuse(model.CodeLevel, "peer %s knows feature level %d only: upgrade it first", id, p.Level)
		}
	}
	if t.Peers.Size() == 0 {
		return tx.Refuse(model.CodeLevel, "no peer is known to have feature level %d", b.Level)
	}
	t.Settings.Level = b.Level
	return tx.OK()
}

// LockRestart lets one peer restart, or frees the lock. Without the lock nothing is to be freed: its time was over.
func LockRestart(t *tx.Tx, b *command.LockRestart) command.Result {
	s := &t.Settings
	holds := s.Restarts == b.Peer && s.RestartKey == b.Key
	switch {
	case b.For == 0 && holds:
		s.Restarts, s.RestartKey, s.RestartUntil = "", "", 0
	case b.For == 0:
	case !t.Peers.Has(b.Peer):
		return tx.Refuse(model.CodeNotFound, "there is no peer %s: berth peers lists all", b.Peer)
	case s.Restarts != "" && !holds && s.RestartUntil > t.Clock:
		return tx.Refuse(model.CodeConflict, "peer %s restarts: wait until it is back, or for at most %s", s.Restarts, s.RestartUntil.Sub(t.Clock).Round(time.Second))
	default:
		s.Restarts, s.RestartKey, s.RestartUntil = b.Peer, b.Key, t.Clock.Add(b.For)
	}
	return tx.OK()
}

// SetRunning switches scheduling on or off.
func SetRunning(t *tx.Tx, b *command.SetRunning) command.Result {
	t.Settings.Running = b.Running
	return tx.OK()
}

// SetPolicy replaces the scheduling policy.
func SetPolicy(t *tx.Tx, b *command.SetPolicy) command.Result {
	t.Settings.Policy = b.Policy
	return tx.OK()
}

// SetRetention replaces how long ended jobs stay.
func SetRetention(t *tx.Tx, b *command.SetRetention) command.Result {
	t.Settings.Retention = b.Retention
	return tx.OK()
}

// SetDefaults replaces the defaults of jobs.
func SetDefaults(t *tx.Tx, b *command.SetDefaults) command.Result {
	t.Settings.Defaults = b.Defaults
	return tx.OK()
}

// SetPeer refuses another folder for a known peer: a peer that has lost its folder has lost its votes,
// and must not be taken for the one that cast them.
func SetPeer(t *tx.Tx, b *command.SetPeer) command.Result {
	if old, found := t.Peers.Get(b.Peer.ID); found && old.Folder != "" && old.Folder != b.Peer.Folder {
		return tx.Refuse(model.CodeConflict, "peer %s has data folder %s, not %s: a peer with a new folder needs a new id",
			b.Peer.ID, old.Folder, b.Peer.Folder)
	}
	t.Peers.Put(b.Peer)
	return tx.OK()
}

// DropPeer removes a peer's row.
func DropPeer(t *tx.Tx, b *command.DropPeer) command.Result {
	t.Peers.Delete(b.ID)
	return tx.OK()
}
