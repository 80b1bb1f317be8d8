package command

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Allocate requests GPUs for a service; they are granted when they are free. Without an ID it is numbered:
// the result's Number is the number that follows the service's name and a hyphen.
type Allocate struct {
	ID          model.AllocationID `cbor:"1,keyasint,omitempty"`
	Service     string             `cbor:"2,keyasint,omitempty"`
	Workload    string             `cbor:"3,keyasint,omitempty"`
	User        string             `cbor:"4,keyasint,omitempty"`
	Project     string             `cbor:"5,keyasint,omitempty"`
	Class       model.Class        `cbor:"6,keyasint,omitempty"`
	Priority    uint8              `cbor:"7,keyasint,omitempty"`
	GPUs        uint32             `cbor:"8,keyasint,omitempty"`
	GPUModel    string             `cbor:"9,keyasint,omitempty"`
	GPUMemoryMB uint32             `cbor:"10,keyasint,omitempty"`
	TTL         time.Duration      `cbor:"11,keyasint,omitempty"`
	Data        string             `cbor:"12,keyasint,omitempty"`
	Constraint  string             `cbor:"13,keyasint,omitempty"`
	Nodelist    string             `cbor:"14,keyasint,omitempty"`
	Exclude     string             `cbor:"15,keyasint,omitempty"`
	Webhook     string             `cbor:"16,keyasint,omitempty"`
	For         string             `cbor:"17,keyasint,omitempty"`
	Job         model.JobID        `cbor:"18,keyasint,omitempty"`

	Capped bool `cbor:"19,keyasint,omitempty"` // the caller is no operator: what is kept for operators is closed to it
}

// Kind returns KindAllocate.
func (*Allocate) Kind() Kind { return KindAllocate }

// Validate checks names and sizes.
func (b *Allocate) Validate() error {
	switch {
	case b.ID != "" && !model.Name(string(b.ID)):
		return invalid("allocation_id", "a name")
	case b.ID == "" && !model.ServiceName(b.Service):
		return invalid("service_name", "1 to 100 letters, digits, dots, hyphens and underscores")
	case !model.Name(b.User) || (b.Project != "" && !model.Name(b.Project)):
		return invalid("user, project", "names")
	case !model.Text(b.Service, model.MaxName) || !model.Text(b.Workload, model.MaxName) || !model.Text(b.GPUModel, model.MaxName):
		return invalid("service_name, workload_type, gpu_model", "at most 128 bytes of text")
	case !b.Class.Valid() || b.Priority > 10:
		return invalid("priority", "1 to 10")
	case b.GPUs < 1 || b.GPUs > model.MaxDevices:
		return invalid("gpu_count", "1 to 64: an allocation is on one node")
	case len(b.Data) > model.MaxData:
		return invalid("workload_data", "at most 8192 bytes")
	case b.Webhook != "" && !model.WebURL(b.Webhook):
		return invalid("webhook_url", "an http or https URL of at most 2048 bytes, without user and password")
	case !model.Text(b.For, model.MaxName):
		return invalid("job_id", "at most 128 bytes of text on one line")
	}
	return validFirstOf(validTTL(b.TTL), b.Where().Validate())
}

// Where returns the nodes on which the allocation may be.
func (b *Allocate) Where() model.Where {
	return model.Where{Constraint: b.Constraint, Nodelist: b.Nodelist, Exclude: b.Exclude}
}

// Grant gives a waiting allocation its slots, all on one node.
type Grant struct {
	ID        model.AllocationID `cbor:"1,keyasint,omitempty"`
	Decided   uint64             `cbor:"2,keyasint,omitempty"`
	Placement Placement          `cbor:"3,keyasint,omitempty"`
}

// Kind returns KindGrant.
func (*Grant) Kind() Kind { return KindGrant }

// Validate checks the slots.
func (b *Grant) Validate() error {
	if len(b.Placement.Slots) == 0 {
		return invalid("slots", "at least one")
	}
	return validPlacements(1, 1, func(int) (model.NodeID, []model.SlotKey) { return b.Placement.Node, b.Placement.Slots })
}

// RenewAllocation extends an allocation's life by its TTL, or by another one.
type RenewAllocation struct {
	ID  model.AllocationID `cbor:"1,keyasint,omitempty"`
	TTL time.Duration      `cbor:"2,keyasint,omitempty"` // 0: as before
}

// Kind returns KindRenewAllocation.
func (*RenewAllocation) Kind() Kind { return KindRenewAllocation }

// Validate checks the TTL.
func (b *RenewAllocation) Validate() error { return validTTL(b.TTL) }

// ReleaseAllocation releases an allocation; its GPUs are free once their node has verified them as clean.
type ReleaseAllocation struct {
	ID model.AllocationID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindReleaseAllocation.
func (*ReleaseAllocation) Kind() Kind { return KindReleaseAllocation }

// Validate accepts every command.
func (*ReleaseAllocation) Validate() error { return nil }

// ExpireAllocations ends allocations whose life is over, and removes those that ended long ago.
type ExpireAllocations struct {
	IDs []model.AllocationID `cbor:"1,keyasint,omitempty"`
}

// Kind returns KindExpireAllocations.
func (*ExpireAllocations) Kind() Kind { return KindExpireAllocations }

// Validate bounds the list.
func (b *ExpireAllocations) Validate() error { return validCount("allocations", len(b.IDs), 1, 1000) }
