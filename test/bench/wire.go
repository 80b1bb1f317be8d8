package main

import "time"

// The operations that a parent asks of a child.
const (
	opStatus = "status" // how do you stand?
	opLoad   = "load"   // propose commands for a while
	opProbe  = "probe"  // propose until one command is committed, and say when
	opCalm   = "calm"   // end the probe
)

// request is a line from the parent to a child.
type request struct {
	ID   uint64    `json:"id"`
	Op   string    `json:"op"`
	Load *loadSpec `json:"load,omitempty"`
}

// reply is a line from a child to the parent, under the request's id.
type reply struct {
	ID     uint64      `json:"id"`
	Error  string      `json:"error,omitempty"`
	Status *status     `json:"status,omitempty"`
	Load   *loadResult `json:"load,omitempty"`
	At     int64       `json:"at,omitempty"` // of a probe: CLOCK_MONOTONIC, the same in every process
}

// status is how a peer stands.
type status struct {
	Leads   bool          `json:"leads"` // and takes commands
	Term    uint64        `json:"term"`
	Applied uint64        `json:"applied"`
	CPU     time.Duration `json:"cpu"` // of this process, user and system, since its start
}

// loadSpec says what to propose.
type loadSpec struct {
	Workload string        `json:"workload"`
	Callers  int           `json:"callers"`
	Warm     time.Duration `json:"warm"` // before anything is counted
	Run      time.Duration `json:"run"`
	Profile  string        `json:"profile,omitempty"` // file for a processor profile of the leader
}

// loadResult is what came of it.
type loadResult struct {
	Count  int           `json:"count"` // commands begun and carried out in the measured time
	All    int           `json:"all"`   // those of the warm-up as well
	Failed int           `json:"failed"`
	Why    string        `json:"why,omitempty"` // of the first failure
	P50    time.Duration `json:"p50"`
	P99    time.Duration `json:"p99"`
}
