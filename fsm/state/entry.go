package state

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/digest"
)

// Meta is the content of an entry in addition to its commands.
type Meta struct {
	Index uint64     // in the log
	Term  uint64     // of the leader that appended it
	At    model.Time // by the proposer's clock
	By    string     // the proposing peer
	Hash  model.Hash // of the entry's bytes
}

// Changes is what an entry has changed, for waiting readers.
type Changes struct {
	Topics model.TopicSet
	Panics []int // commands that panicked and were skipped: each is a defect to report

	Audit   []AuditLink    // what the entry adds to the audit trail, in order
	Retired []model.JobID  // jobs that left the state
	Notices []model.Notice // the notices of the entry, in order
}

// AuditLink is one record of the audit trail, encoded, and the trail's heads before and with it.
type AuditLink struct {
	Before model.Hash
	Head   model.AuditHead
	Record []byte
}

// ChainAudit returns the hash of a trail after a further record: SHA-256 over the hash
// before and the record's bytes.
func ChainAudit(before model.Hash, record []byte) model.Hash {
	h := sha256.New()
	h.Write(before[:])
	h.Write(record)
	return model.Hash(h.Sum(nil))
}

// DecodeAudit decodes a record's bytes. An *[command.UnknownError] means a newer program's record.
func DecodeAudit(data []byte) (r model.AuditRecord, err error) {
	if err = digest.Rows.Dec.Unmarshal(data, &r); err == nil {
		return r, nil
	}
	if digest.IsUnknownField(err) {
		return r, &command.UnknownError{What: "a field of an audit record"}
	}
	return r, fmt.Errorf("%w: an audit record: %w", ErrCorrupt, err)
}

// ErrCorrupt means that a snapshot is not what was written.
var ErrCorrupt = errors.New("the snapshot is corrupt")
