package raftnet

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// heard is when a leader's message last came in. It is noted before the message is handled: raft's own time
// of last contact leaves out messages that were answered in place of a busy main goroutine, and is set only
// when that goroutine gets to it.
type heard struct {
	born time.Time
	last atomic.Int64 // since then
}

func (h *heard) note(command any) {
	switch command.(type) {
	case *raft.AppendEntriesRequest, *raft.InstallSnapshotRequest:
		h.last.Store(int64(time.Since(h.born)))
	}
}

func (h *heard) since() time.Duration {
	return time.Since(h.born) - time.Duration(h.last.Load())
}

// Heard returns how long ago a leader's message last came in, of whatever term and outcome; counted from the
// start while none has.
func (t *Transport) Heard() time.Duration { return t.relay.heard.since() }
