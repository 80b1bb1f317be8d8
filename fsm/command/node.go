package command

import (
	"github.com/berth-gpu/berth/fsm/model"
)

// Register registers a node, new or known: its identity, its inventory, and everything that it knows of
// attempts. The ends in it count before anything is concluded from a reboot.
//
// A registration counts only while the node is in the epoch that it follows, so that a late one, of a former
// boot or data folder, proves nothing. The agent may guess that epoch: the refusal contains the right one.
type Register struct {
	Node     model.NodeID     `cbor:"1,keyasint,omitempty"`
	Machine  string           `cbor:"2,keyasint,omitempty"`
	Boot     string           `cbor:"3,keyasint,omitempty"`
	Lineage  string           `cbor:"4,keyasint,omitempty"`
	Session  string           `cbor:"5,keyasint,omitempty"`
	Hostname string           `cbor:"6,keyasint,omitempty"`
	Address  string           `cbor:"7,keyasint,omitempty"`
	Version  string           `cbor:"8,keyasint,omitempty"`
	CPUs     uint32           `cbor:"9,keyasint,omitempty"`
	MemoryMB uint32           `cbor:"10,keyasint,omitempty"`
	Devices  []model.Device   `cbor:"11,keyasint,omitempty"`
	Folders  []model.Folder   `cbor:"12,keyasint,omitempty"`
	Reports  []model.Progress `cbor:"13,keyasint,omitempty"`
	Cleaned  []model.Cleaned  `cbor:"14,keyasint,omitempty"`
	Features string           `cbor:"15,keyasint,omitempty"`
	Labels   string           `cbor:"16,keyasint,omitempty"` // as model.Labels writes them
	Follows  uint64           `cbor:"17,keyasint,omitempty"` // the epoch before this registration, as far as the agent knows
	Trouble  string           `cbor:"18,keyasint,omitempty"` // why the agent cannot start jobs; empty: it can
	Accounts model.Accounts   `cbor:"19,keyasint,omitempty"` // under which it runs jobs
	Account  string           `cbor:"20,keyasint,omitempty"` // the agent's own
}

// Kind returns KindRegister.
func (*Register) Kind() Kind { return KindRegister }

// Validate checks identity and inventory.
func (b *Register) Validate() error {
	for _, id := range []string{string(b.Node), b.Machine, b.Boot, b.Lineage, b.Session} {
		if !model.Name(id) {
			return invalid("identity", "a node's id, machine, boot id, lineage and session, each of 1 to 128 bytes")
		}
	}
	if !model.Text(b.Features, model.MaxText) {
		return invalid("features", "at most 512 bytes of text on one line")
	}
	if !model.Text(b.Hostname, model.MaxName) || !model.Text(b.Version, model.MaxName) {
		return invalid("hostname, version", "at most 128 bytes each")
	}
	if b.Address != "" {
		if err := model.CheckHostPort(b.Address); err != nil {
			return invalid("address", "host:port, at which peers can reach this agent: "+err.Error())
		}
	}
	if !b.Accounts.Valid() || !model.Text(b.Account, model.MaxName) || b.Accounts == model.AccountsOwn && b.Account == "" {
		return invalid("accounts", "shared, users or own, with the name of the agent's account in at most 128 bytes")
	}
	return validFirstOf(validLabels(b.Labels, false), validTrouble(b.Trouble), validDevices(b.Devices), validCount("folders", len(b.Folders), 0, 4096),
		validReports(b.Reports),
		validCount("cleaned", len(b.Cleaned), 0, 4096))
}

// Renew contains the renewals that the leader has gathered.
type Renew struct {
	Renewals []Renewal `cbor:"1,keyasint,omitempty"`
}

// Renewal is one node's renewal of its lease. Each sending has its own number.
type Renewal struct {
	Node        model.NodeID      `cbor:"1,keyasint,omitempty"`
	Incarnation model.Incarnation `cbor:"2,keyasint,omitempty"`
	Epoch       uint64            `cbor:"3,keyasint,omitempty"`
	Seq         uint64            `cbor:"4,keyasint,omitempty"`
}

// Kind returns KindRenew.
func (*Renew) Kind() Kind { return KindRenew }

// Validate bounds the batch.
func (b *Renew) Validate() error { return validCount("renewals", len(b.Renewals), 1, 4096) }

// Report contains a node's reports on its ranks and slots.
type Report struct {
	Node        model.NodeID      `cbor:"1,keyasint,omitempty"`
	Incarnation model.Incarnation `cbor:"2,keyasint,omitempty"`
	Epoch       uint64            `cbor:"3,keyasint,omitempty"`
	Reports     []model.Progress  `cbor:"4,keyasint,omitempty"`
	Cleaned     []model.Cleaned   `cbor:"5,keyasint,omitempty"`
}

// Kind returns KindReport.
func (*Report) Kind() Kind { return KindReport }

// Validate bounds the lists.
func (b *Report) Validate() error {
	return validFirstOf(validReports(b.Reports), validCount("cleaned", len(b.Cleaned), 0, 4096))
}

// Inventory contains a node's current GPUs.
type Inventory struct {
	Node        model.NodeID      `cbor:"1,keyasint,omitempty"`
	Incarnation model.Incarnation `cbor:"2,keyasint,omitempty"`
	Epoch       uint64            `cbor:"3,keyasint,omitempty"`
	Devices     []model.Device    `cbor:"4,keyasint,omitempty"`
	Trouble     string            `cbor:"5,keyasint,omitempty"` // why the agent cannot start jobs; empty: it can
	Missing     []string          `cbor:"6,keyasint,omitempty"` // users of its jobs whose account the host lacks
}

// Kind returns KindInventory.
func (*Inventory) Kind() Kind { return KindInventory }

// Validate checks the devices and the text.
func (b *Inventory) Validate() error {
	return validFirstOf(validDevices(b.Devices), validTrouble(b.Trouble), validMissing(b.Missing))
}

// SetNodeMode opens, cordons or drains a node.
type SetNodeMode struct {
	Node model.NodeID   `cbor:"1,keyasint,omitempty"`
	Mode model.NodeMode `cbor:"2,keyasint,omitempty"`
	Note string         `cbor:"3,keyasint,omitempty"`
}

// Kind returns KindSetNodeMode.
func (*SetNodeMode) Kind() Kind { return KindSetNodeMode }

// Validate checks the mode.
func (b *SetNodeMode) Validate() error { return validFirstOf(validMode(b.Mode), validNote(b.Note)) }

// SetNodeLabels sets which labels a node has or lacks, whatever its agent reports.
type SetNodeLabels struct {
	Node    model.NodeID `cbor:"1,keyasint,omitempty"`
	Changes string       `cbor:"2,keyasint,omitempty"` // as model.Labels writes them: "zone=a", or "zone-" to take it away
}

// Kind returns KindSetNodeLabels.
func (*SetNodeLabels) Kind() Kind { return KindSetNodeLabels }

// Validate checks the labels.
func (b *SetNodeLabels) Validate() error {
	if b.Changes == "" {
		return invalid("labels", "given")
	}
	return validLabels(b.Changes, true)
}

// ConfirmDead is an operator's confirmation that a node's processes are gone for good.
type ConfirmDead struct {
	Node  model.NodeID `cbor:"1,keyasint,omitempty"`
	Epoch uint64       `cbor:"2,keyasint,omitempty"` // that the operator saw
	Note  string       `cbor:"3,keyasint,omitempty"`
}

// Kind returns KindConfirmDead.
func (*ConfirmDead) Kind() Kind { return KindConfirmDead }

// Validate checks the note.
func (b *ConfirmDead) Validate() error { return validNote(b.Note) }

// RetireNode removes a node that is dead or empty.
type RetireNode struct {
	Node model.NodeID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindRetireNode.
func (*RetireNode) Kind() Kind { return KindRetireNode }

// Validate accepts every command.
func (*RetireNode) Validate() error { return nil }

// KillForeign asks a node to end processes of attempts that the state does not
// know, on one of its slots.
type KillForeign struct {
	Slot model.SlotKey `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindKillForeign.
func (*KillForeign) Kind() Kind { return KindKillForeign }

// Validate accepts every command.
func (*KillForeign) Validate() error { return nil }

// SetGPUMode opens, cordons or drains one GPU.
type SetGPUMode struct {
	GPU  model.GPUID    `cbor:"1,keyasint,omitempty"`
	Mode model.NodeMode `cbor:"2,keyasint,omitempty"`
	Note string         `cbor:"3,keyasint,omitempty"`
}

// Kind returns KindSetGPUMode.
func (*SetGPUMode) Kind() Kind { return KindSetGPUMode }

// Validate checks the mode.
func (b *SetGPUMode) Validate() error { return validFirstOf(validMode(b.Mode), validNote(b.Note)) }

// Suspect marks a node that has been silent for a while: no new work goes there.
type Suspect struct {
	Node  model.NodeID `cbor:"1,keyasint,omitempty"`
	Epoch uint64       `cbor:"2,keyasint,omitempty"`
	Seq   uint64       `cbor:"3,keyasint,omitempty"`
}

// Kind returns KindSuspect.
func (*Suspect) Kind() Kind { return KindSuspect }

// Validate accepts every command.
func (*Suspect) Validate() error { return nil }

// RankLost gives up a rank whose node has been silent for longer than its lease.
type RankLost struct {
	Rank   model.RankKey `cbor:"1,keyasint,omitempty"`
	Epoch  uint64        `cbor:"2,keyasint,omitempty"` // the node's, as the leader knew it
	Seq    uint64        `cbor:"3,keyasint,omitempty"` // of the last renewal that the leader knew
	Orphan uint64        `cbor:"4,keyasint,omitempty"` // for a rank whose agent forgot it: since this index
}

// Kind returns KindRankLost.
func (*RankLost) Kind() Kind { return KindRankLost }

// Validate accepts every command.
func (*RankLost) Validate() error { return nil }

// AllocationLost gives up an allocation whose node has been silent for longer
// than its lease.
type AllocationLost struct {
	ID    model.AllocationID `cbor:"1,keyasint,omitempty"`
	Node  model.NodeID       `cbor:"2,keyasint,omitempty"`
	Epoch uint64             `cbor:"3,keyasint,omitempty"`
	Seq   uint64             `cbor:"4,keyasint,omitempty"`
}

// Kind returns KindAllocationLost.
func (*AllocationLost) Kind() Kind { return KindAllocationLost }

// Validate accepts every command.
func (*AllocationLost) Validate() error { return nil }
