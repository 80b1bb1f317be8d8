package fsm

import (
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// MarkEvery is the distance of the log indexes at which peers compare digests.
const MarkEvery = 1000

// Mark is the digest of the state at a multiple of MarkEvery: of the last entry
// applied at or before it, since raft's own entries never reach the FSM.
type Mark struct {
	Index  uint64
	Digest model.Hash
}

// keptMarks lets peers that are a few thousand entries apart find a common mark.
const keptMarks = 8

type marks struct {
	mu   sync.Mutex
	list []Mark // newest last
}

// before notes the mark that an entry at index completes.
func (m *marks) before(index uint64, s *state.State) {
	at := (index - 1) / MarkEvery * MarkEvery
	if at == 0 || s.Index == 0 || s.Index > at {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.list); n > 0 && m.list[n-1].Index >= at {
		return
	}
	m.list = append(m.list, Mark{at, s.Digest()})
	if len(m.list) > keptMarks {
		m.list = m.list[1:]
	}
}

// Marks returns the newest marks, oldest first.
func (f *FSM) Marks() []Mark {
	f.marks.mu.Lock()
	defer f.marks.mu.Unlock()
	return append([]Mark(nil), f.marks.list...)
}
