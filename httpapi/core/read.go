package core

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of reads.
const (
	waitMost  = time.Minute // for a change
	waitUsual = 30 * time.Second
	// wakeEvery is the least time between two answers to a reader that waits for changes, so that
	// many readers of a busy list cost little.
	wakeEvery = 50 * time.Millisecond
)

// Watch holds the parameters of every read.
type Watch struct {
	Consistency string `query:"consistency" enum:"default,stale,linearizable" doc:"how new the state must be: at least as new as in earlier answers of this peer (default), any (stale), or with all that was acknowledged anywhere (linearizable)"`
	Index       uint64 `query:"index" doc:"wait until the requested data has changed after this index, the X-Berth-Index of an earlier answer"`
	Wait        string `query:"wait" doc:"limit of the wait, such as 30s; 1m at most"`
}

func (q *Watch) level() peer.Consistency {
	switch q.Consistency {
	case "stale":
		return peer.Stale
	case "linearizable":
		return peer.Linearizable
	}
	return peer.Default
}

func (q *Watch) wait() (time.Duration, error) {
	if q.Wait == "" {
		return waitUsual, nil
	}
	d, err := wire.ParseDuration(q.Wait)
	if err != nil {
		return 0, problem.Invalid("wait", err.Error())
	}
	return min(d, waitMost), nil
}

// Read returns a state as new as required, once one of the topics has changed after the index of
// the request. When the wait is over it returns the present state. differs can require a certain
// difference; with nil any change ends the wait.
func (a *API) Read(ctx context.Context, q *Watch, set model.TopicSet, differs func(was, is *state.State) bool) (state.State, error) {
	wait, err := q.wait()
	if err != nil {
		return state.State{}, err
	}
	began := time.Now()
	s, err := a.Fresh(ctx, q.level())
	if err != nil || q.Index == 0 || s.Settings().Incarnation.IsZero() {
		return s, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	stop := context.AfterFunc(a.life.Ctx, cancel)
	defer stop()
	if LastOf(&s, set) <= q.Index {
		a.await(ctx, &s, set, q.Index, differs)
	}
	select {
	case <-time.After(wakeEvery - time.Since(began)):
	case <-ctx.Done():
	}
	return a.Fresh(context.WithoutCancel(ctx), peer.Default)
}

// await waits for a change that makes a difference, or for another incarnation.
func (a *API) await(ctx context.Context, first *state.State, set model.TopicSet, after uint64, differs func(was, is *state.State) bool) {
	for {
		select {
		case <-a.wakes.Changed(set, after):
		case <-ctx.Done():
			return
		}
		s := a.State()
		last := LastOf(&s, set)
		if last > after && (differs == nil || differs(first, &s)) || s.Index < first.Index {
			return
		}
		after = max(after, last)
	}
}

// Fresh returns a state as new as required.
func (a *API) Fresh(ctx context.Context, level peer.Consistency) (state.State, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return a.Peer.Reader.Read(ctx, level)
}

// Now returns the time for answers: the cluster's clock lags behind when nothing happens.
func (a *API) Now(s *state.State) model.Time {
	return max(model.TimeOf(a.Config.Now()), s.Settings().Clock)
}

// ArchivePatience bounds the time for the archive to hold what the state does.
const ArchivePatience = 2 * time.Second

// Archived waits until this peer's archive is complete up to the log index that last returns, and
// returns the state and the status of the archive.
func Archived(ctx context.Context, a *API, last func(*state.State) uint64) (s state.State, stand archive.Standing, err error) {
	if s, err = a.Fresh(ctx, peer.Default); err != nil {
		return s, stand, err
	}
	a.Peer.Archive.Reach(ctx, last(&s), ArchivePatience)
	return s, a.Peer.Archive.Standing(), nil
}

// ArchiveFault returns the problem of an archive that cannot be read.
func ArchiveFault(err error) error {
	return &problem.Fault{Code: wire.CodeNoArchive, Err: err}
}

// WatchInput is the input of a read without parameters of its own.
type WatchInput struct{ Watch }

// Orchestrator returns whether jobs are started, and the counts of the scheduler.
func (a *API) Orchestrator(ctx context.Context, s *state.State) *wire.Orchestrator {
	set, n, known := s.Settings(), view.Statistics(s, a.Places.Rate(s)), a.samples.Get(ctx)
	leader, _ := a.Peer.Members.Leader()
	out := &wire.Orchestrator{
		Running: set.Running && !set.Standstill, Policy: set.Policy, Leader: string(leader.ID),
		Stats: wire.SchedStats{
			JobsScheduled: n.Attempts, JobsCompleted: n.Completed, JobsFailed: n.Failed,
			SchedulingCycles: int64(known.Passes),
		},
		ResourceSummary: view.Resources(s),
		QueueSummary: wire.QueueSummary{
			TotalJobs: n.TotalJobs, Queued: n.Queued, Running: n.Running, Completed: n.Completed, Failed: n.Failed, Canceled: n.Canceled,
		},
	}
	if known.Passes > 0 {
		out.AveragePassMicro = view.Tenths(float64(known.PassesTook.Microseconds()) / float64(known.Passes))
	}
	return out
}
