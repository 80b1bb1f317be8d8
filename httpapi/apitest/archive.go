package apitest

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Shelf is an archive that holds what a test puts there.
type Shelf struct {
	Asked archive.Filter
	Found archive.Found
	Said  archive.Verdict
	Stand archive.Standing
	Gone  state.State     // what it has of jobs that have left the state
	Ended []archive.Ended // newest first
	UpTo  uint64          // that was waited for
	Fail  error
}

// Find notes the filter, and returns what the test has put into Found.
func (s *Shelf) Find(f archive.Filter) (archive.Found, error) {
	s.Asked = f
	return s.Found, s.Fail
}

// Verify returns what the test has put into Said.
func (s *Shelf) Verify(context.Context, model.AuditHead) (archive.Verdict, error) {
	return s.Said, s.Fail
}

// Past returns what the test has put into Gone.
func (s *Shelf) Past(id model.JobID, _ uint32) (state.State, bool, error) {
	return s.Gone, s.Gone.Jobs.Has(id), s.Fail
}

// Ends shows the jobs of Ended that are older than a key.
func (s *Shelf) Ends(_ context.Context, before archive.HistoryKey, look func(archive.Ended) bool) error {
	for _, e := range s.Ended {
		if k := e.Key; (k.Index < before.Index || k.Index == before.Index && k.Job < before.Job) && !look(e) {
			break
		}
	}
	return s.Fail
}

// Reach notes the index that was waited for.
func (s *Shelf) Reach(_ context.Context, index uint64, _ time.Duration) bool {
	s.UpTo = index
	return true
}

// Copy fails: there is nothing to copy.
func (*Shelf) Copy(func(int64, io.Reader) error) error { return archive.ErrUnavailable }

// Standing returns what the test has put into Stand.
func (s *Shelf) Standing() archive.Standing { return s.Stand }

// Refusals keeps refusals in memory.
type Refusals struct {
	mu    sync.Mutex
	List  []archive.Refusal
	Asked archive.RefusalFilter
	Fail  error
	Bad   uint64 // what Verify finds
	What  string
}

// Find notes the filter, and returns all refusals.
func (r *Refusals) Find(_ context.Context, f archive.RefusalFilter) ([]archive.Refusal, uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Asked = f
	return r.List, 12, r.Fail
}

// Verify returns what the test has put into Bad and What.
func (r *Refusals) Verify(context.Context) (archive.RefusalsVerdict, error) {
	return archive.RefusalsVerdict{Records: uint64(len(r.List)), Bad: r.Bad, What: r.What}, r.Fail
}

// Refused keeps a refusal.
func (r *Refusals) Refused(one archive.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.List = append(r.List, one)
}
