package model

import "time"

// Desired is what should be on one node, as of a state. It is complete: what a node runs and the set does not name should end.
type Desired struct {
	Incarnation Incarnation  `cbor:"1,keyasint,omitempty"`
	Index       uint64       `cbor:"2,keyasint,omitempty"` // of the state that it was read from
	Node        NodeID       `cbor:"3,keyasint,omitempty"`
	Epoch       uint64       `cbor:"4,keyasint,omitempty"`
	Ranks       []Assignment `cbor:"5,keyasint,omitempty"` // in order of rank key
	Clean       []Cleaning   `cbor:"6,keyasint,omitempty"` // in order of slot
	Lent        []GPUID      `cbor:"7,keyasint,omitempty"` // held by services' allocations: processes on them are the services'
}

// Assignment is one rank that a node is to run, or to bring to an end.
type Assignment struct {
	Rank   RankKey `cbor:"1,keyasint,omitempty"`
	Placed uint64  `cbor:"2,keyasint,omitempty"` // log index of the placement
	Frozen Frozen  `cbor:"3,keyasint,omitempty"`
	GPUs   []GPUID `cbor:"4,keyasint,omitempty"` // in order of place
	Run    bool    `cbor:"5,keyasint,omitempty"` // false: prepare, report ready, wait
	Stop   Reason  `cbor:"6,keyasint,omitempty"` // not none: signal, grace, kill
	Spec   Spec    `cbor:"7,keyasint,omitempty"`
	Script Hash    `cbor:"8,keyasint,omitempty"`
	Env    Hash    `cbor:"9,keyasint,omitempty"`
	Gang   []Mate  `cbor:"10,keyasint,omitempty"` // all ranks of the attempt, once it may run

	Preempted uint32 `cbor:"11,keyasint,omitempty"` // attempts of the task that were preempted or drained before

	Stdin Hash `cbor:"12,keyasint,omitempty"` // base64; rank 0 reads it

	SubmitEnv Hash `cbor:"14,keyasint,omitempty"` // environment of the submission

	Secret Hash      `cbor:"13,keyasint,omitempty"` // the attempt's, with Gang; zero: the attempt has one rank
	Phase  RankPhase `cbor:"15,keyasint,omitempty"` // as the state has it: a node that has no folder of a rank that was taken never starts that rank
}

// Mate is where a gang reaches one of its ranks.
type Mate struct {
	Rank    uint32 `cbor:"1,keyasint,omitempty"`
	Node    NodeID `cbor:"2,keyasint,omitempty"`
	Address string `cbor:"3,keyasint,omitempty"`
	Port    uint16 `cbor:"4,keyasint,omitempty"`
}

// Cleaning is a slot that the node has to verify as clean: no process and no memory of the former owner, and
// the certainty that it never starts again.
type Cleaning struct {
	Slot       SlotKey      `cbor:"1,keyasint,omitempty"`
	Rank       RankKey      `cbor:"2,keyasint,omitempty"`
	Allocation AllocationID `cbor:"3,keyasint,omitempty"`
	Kill       bool         `cbor:"4,keyasint,omitempty"` // end its processes first: they are no longer known
}

// Cleaned is the node's confirmation of one Cleaning.
type Cleaned struct {
	Slot       SlotKey      `cbor:"1,keyasint,omitempty"`
	Rank       RankKey      `cbor:"2,keyasint,omitempty"`
	Allocation AllocationID `cbor:"3,keyasint,omitempty"`
}

// Progress is what a node reports of one of its ranks. Reports may come again and late; a phase that the rank has passed changes nothing.
type Progress struct {
	Rank    RankKey   `cbor:"1,keyasint,omitempty"`
	Phase   RankPhase `cbor:"2,keyasint,omitempty"` // taken, ready, running, exited or never_started
	Address string    `cbor:"3,keyasint,omitempty"` // with ready
	Port    uint16    `cbor:"4,keyasint,omitempty"` // with ready
	Exit    Exit      `cbor:"5,keyasint,omitempty"` // with exited
	Detail  string    `cbor:"6,keyasint,omitempty"` // with never_started: why

	Saved time.Duration `cbor:"7,keyasint,omitempty"` // with running: run time at the last checkpoint that the job announced

	// Excused says, with never_started, that the rank did not start for no reason of the node's: the node runs no jobs of its user,
	// the agent ended meanwhile, or the rank was no longer wanted.
	Excused bool `cbor:"8,keyasint,omitempty"`
}

// Folder is an attempt's folder that an agent found on its disk when it registered.
type Folder struct {
	Rank        RankKey     `cbor:"1,keyasint,omitempty"`
	Incarnation Incarnation `cbor:"2,keyasint,omitempty"` // that it was last desired under
	Running     bool        `cbor:"3,keyasint,omitempty"` // its supervisor or processes live
	GPUs        []GPUID     `cbor:"4,keyasint,omitempty"`
}

// Device is a GPU as a node's inventory lists it.
type Device struct {
	ID       GPUID  `cbor:"1,keyasint,omitempty"`
	Index    uint32 `cbor:"2,keyasint,omitempty"`
	Model    string `cbor:"3,keyasint,omitempty"`
	MemoryMB uint32 `cbor:"4,keyasint,omitempty"`
	PCI      string `cbor:"5,keyasint,omitempty"`
	NUMA     int32  `cbor:"6,keyasint,omitempty"`
	Link     string `cbor:"7,keyasint,omitempty"`
	Health   Health `cbor:"8,keyasint,omitempty"`
	Why      string `cbor:"9,keyasint,omitempty"`
	Idle     bool   `cbor:"10,keyasint,omitempty"` // no process is on it and its memory is free
	Gone     bool   `cbor:"11,keyasint,omitempty"` // the driver has lost it in this life of the kernel
}
