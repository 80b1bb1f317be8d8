package model

// Import is the import of a cluster's jobs from state files. There is at most one in a cluster's life, since
// only an empty cluster accepts one.
type Import struct {
	ID    Hash   `cbor:"1,keyasint,omitempty"` // SHA-256 of what is imported; zero: there was none
	Open  bool   `cbor:"2,keyasint,omitempty"` // begun and not ended: nothing is placed and nothing else is submitted
	Parts uint32 `cbor:"3,keyasint,omitempty"` // how many parts bring its jobs
	Next  uint32 `cbor:"4,keyasint,omitempty"` // the part that comes next, from 0
	Jobs  uint32 `cbor:"5,keyasint,omitempty"` // jobs that were queued
	Left  uint32 `cbor:"6,keyasint,omitempty"` // jobs that were left out: their deadline had passed, or what they waited for was left out
	Since Time   `cbor:"7,keyasint,omitempty"` // greatest submission time of its jobs: an import keeps their order
}

// Bounds of an import.
const (
	MaxImportParts = 1 << 20
	MaxImportJobs  = 2_000 // in a part
)
