package command

import (
	"github.com/berth-gpu/berth/fsm/model"
)

// Bootstrap begins a cluster's state; it is the first command of every log. It contains all of the founders'
// configuration, so that nothing comes before that.
type Bootstrap struct {
	Incarnation model.Incarnation `cbor:"1,keyasint,omitempty"`
	Level       uint32            `cbor:"2,keyasint,omitempty"`
	Running     bool              `cbor:"3,keyasint,omitempty"`
	Policy      string            `cbor:"4,keyasint,omitempty"`
	Retention   model.Retention   `cbor:"5,keyasint,omitempty"`

	Tuning   model.Tuning       `cbor:"6,keyasint,omitempty"` // none of it: [model.DefaultTuning]
	Pools    model.Pools        `cbor:"7,keyasint,omitempty"`
	Defaults model.Defaults     `cbor:"8,keyasint,omitempty"`
	Limits   []model.LimitValue `cbor:"9,keyasint,omitempty"` // of the cluster as a whole
	Notify   model.Notify       `cbor:"10,keyasint,omitempty"`
}

// Kind returns KindBootstrap.
func (*Bootstrap) Kind() Kind { return KindBootstrap }

// Validate requires an incarnation, a level and a policy, and checks the bounds.
func (b *Bootstrap) Validate() error {
	switch {
	case b.Incarnation.IsZero():
		return invalid("incarnation", "128 random bits")
	case b.Level == 0:
		return invalid("level", "at least 1")
	}
	if b.Tuning != (model.Tuning{}) {
		if err := b.Tuning.Validate(); err != nil {
			return err
		}
	}
	return validFirstOf(validPolicy(b.Policy), validRetention(b.Retention), validPools(b.Pools), b.Defaults.Validate(),
		validLimits(b.Limits), b.Notify.Validate())
}

// Restored begins another incarnation of a state that came from a backup: the scheduler is stopped until
// Resume, and agents must register again.
type Restored struct {
	Incarnation model.Incarnation `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindRestored.
func (*Restored) Kind() Kind { return KindRestored }

// Validate requires an incarnation.
func (b *Restored) Validate() error {
	if b.Incarnation.IsZero() {
		return invalid("incarnation", "128 random bits")
	}
	return nil
}

// Resume starts the scheduler again after a restore.
type Resume struct{}

// Kind returns KindResume.
func (*Resume) Kind() Kind { return KindResume }

// Validate accepts every command.
func (*Resume) Validate() error { return nil }

// AdvanceClock moves the state's clock to the entry's stamp, however far ahead. It is proposed only when a
// majority of the peers' clocks agree on that time.
type AdvanceClock struct{}

// Kind returns KindAdvanceClock.
func (*AdvanceClock) Kind() Kind { return KindAdvanceClock }

// Validate accepts every command.
func (*AdvanceClock) Validate() error { return nil }

// RaiseLevel raises the cluster's feature level, if every peer has it. A program that does not know the level halts at the command
// (package fsm): started in place of a newer one while the level is raised, it would refuse the command, and its state would differ
// from the others'.
type RaiseLevel struct {
	Level uint32 `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindRaiseLevel.
func (*RaiseLevel) Kind() Kind { return KindRaiseLevel }

// Validate requires a level.
func (b *RaiseLevel) Validate() error {
	if b.Level == 0 {
		return invalid("level", "at least 1")
	}
	return nil
}

// SetRunning starts or stops placements and preemptions; nothing else stops.
type SetRunning struct {
	Running bool `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetRunning.
func (*SetRunning) Kind() Kind { return KindSetRunning }

// Validate accepts every command.
func (*SetRunning) Validate() error { return nil }

// SetPolicy chooses the order of the queue.
type SetPolicy struct {
	Policy string `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetPolicy.
func (*SetPolicy) Kind() Kind { return KindSetPolicy }

// Validate requires a policy's name.
func (b *SetPolicy) Validate() error { return validPolicy(b.Policy) }

// SetRetention sets how long ended jobs stay in the state.
type SetRetention struct {
	Retention model.Retention `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetRetention.
func (*SetRetention) Kind() Kind { return KindSetRetention }

// Validate checks the bounds.
func (b *SetRetention) Validate() error { return validRetention(b.Retention) }

// SetLimit sets what a scope may use; an empty limit removes it.
type SetLimit struct {
	Limit model.Limit `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetLimit.
func (*SetLimit) Kind() Kind { return KindSetLimit }

// Validate checks scope and bounds.
func (b *SetLimit) Validate() error {
	if err := validScope(b.Limit.Scope); err != nil {
		return err
	}
	return b.Limit.Validate()
}

// AdjustLimit changes some values of a scope's limit, and leaves the others.
type AdjustLimit struct {
	Scope model.ScopeKey     `cbor:"1,keyasint,omitempty"`
	Set   []model.LimitValue `cbor:"2,keyasint,omitempty"`
}

// Kind returns KindAdjustLimit.
func (*AdjustLimit) Kind() Kind { return KindAdjustLimit }

// Validate checks scope and bounds, and that no value is given twice.
func (b *AdjustLimit) Validate() error {
	if err := validFirstOf(validScope(b.Scope), validCount("limits", len(b.Set), 1, int(model.LimitCPUs))); err != nil {
		return err
	}
	return validLimits(b.Set)
}

// SetPeer records a peer's addresses and feature level.
type SetPeer struct {
	Peer model.Peer `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindSetPeer.
func (*SetPeer) Kind() Kind { return KindSetPeer }

// Validate checks the id and the addresses.
func (b *SetPeer) Validate() error {
	p := &b.Peer
	if !model.Name(string(p.ID)) || !model.Text(p.Version, model.MaxName) || !model.Text(p.Folder, model.MaxName) {
		return invalid("peer", "an id, a version and a folder id of at most 128 bytes")
	}
	const maxURL = 512 // bytes
	if !model.Text(p.PublicURL, maxURL) {
		return invalid("peer's public url", "at most 512 bytes of text")
	}
	for _, v := range []struct{ field, address string }{{"raft address", p.RaftAddress}, {"api address", p.APIAddress}} {
		if v.address == "" {
			continue
		}
		if err := model.CheckHostPort(v.address); err != nil {
			return invalid("peer's "+v.field, "host:port, at which other peers can reach this one: "+err.Error())
		}
	}
	return nil
}

// DropPeer removes a peer that has left the cluster.
type DropPeer struct {
	ID model.PeerID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindDropPeer.
func (*DropPeer) Kind() Kind { return KindDropPeer }

// Validate requires an id.
func (b *DropPeer) Validate() error {
	if !model.Name(string(b.ID)) {
		return invalid("peer", "an id")
	}
	return nil
}

// CutRequests removes request ids from before an instant, oldest first and at most MaxCut of them; from then
// on, older ids are answered "expired".
type CutRequests struct {
	Before model.Time `cbor:"1,keyasint,omitempty"`
}

// MaxCut bounds what one command removes, so that no entry takes long to apply.
const MaxCut = 10_000

// Kind returns KindCutRequests.
func (*CutRequests) Kind() Kind { return KindCutRequests }

// Validate requires an instant.
func (b *CutRequests) Validate() error {
	if b.Before <= 0 {
		return invalid("before", "an instant")
	}
	return nil
}

// Retire removes ended jobs whose history has been archived.
type Retire struct {
	Jobs       []model.JobID `cbor:"1,keyasint,omitempty"`
	ArchivedTo uint64        `cbor:"2,keyasint,omitempty"` // log index that a majority's archives have reached
}

// Kind returns KindRetire.
func (*Retire) Kind() Kind { return KindRetire }

// Validate bounds the list.
func (b *Retire) Validate() error { return validCount("jobs", len(b.Jobs), 1, 1000) }
