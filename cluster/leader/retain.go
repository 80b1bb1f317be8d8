package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Bounds of retention.
const (
	maxRetired      = 100              // jobs of one command, so that no entry takes long to apply
	maxRetiredTasks = 2000             // their tasks, but for the first job's
	maxRetainLook   = 10_000           // ended jobs looked at in one decision
	retainAgain     = time.Second      // between looks at archives that lag behind
	retainPause     = 10 * time.Second // between two commands, unless there is more than one may hold
	retainWarn      = 10 * time.Minute // of that, between two lines of the log
)

// retention returns the decider that moves ended jobs out of the state.
func retention(c *Config) func(*state.State) ([]command.Body, time.Duration) {
	var warned, pause time.Duration
	return func(s *state.State) ([]command.Body, time.Duration) {
		if c.Archived == nil {
			return nil, liveness.Never
		}
		now := c.Clock.Boot()
		archived := c.Archived()
		body, waits, next := retire(s, model.TimeOf(c.Clock.Wall()), archived, state.MaxEndedBytes)
		set := s.Settings()
		over := s.Ended.Len() > int(set.Retention.Jobs) || set.EndedBytes > state.MaxEndedBytes
		if waits && over && (warned == 0 || now-warned >= retainWarn) {
			warned = now
			c.Log.Warn("ended jobs stay in the state: too few complete archives",
				"ended", s.Ended.Len(), "bytes", set.EndedBytes, "archived_to", archived)
		}
		switch {
		case body == nil:
			return nil, next
		case next > 0 && now < pause:
			return nil, pause - now // a few jobs: more will join them
		}
		pause = now + retainPause
		return []command.Body{body}, next
	}
}

// retire returns the oldest of the ended jobs that are too many or too old, or that take more than most bytes
// of memory, as far as they are archived; whether some wait for the archives; and when to check again.
func retire(s *state.State, wall model.Time, archived uint64, most int64) (b command.Body, waits bool, next time.Duration) {
	set := s.Settings()
	now, next := max(wall, set.Clock), liveness.Never
	over, overBytes := s.Ended.Len()-int(set.Retention.Jobs), int64(set.EndedBytes)-most
	t, looked := turn{most: maxRetired}, 0
	var to uint64
	for k := range s.Ended.All() {
		job, _ := s.Jobs.Get(k.Job)
		if at := job.Ended.Add(set.Retention.Age); over <= 0 && overBytes <= 0 && at > now {
			next = at.Sub(now)
			break
		}
		if looked++; k.Index > archived || looked > maxRetainLook {
			waits, next = k.Index > archived, retainAgain
			break
		}
		over--
		overBytes -= int64(job.Bytes)
		if needed(s, k.Job) {
			continue
		}
		if len(t.jobs) > 0 && t.tasks+int(job.Tasks) > maxRetiredTasks || !t.add(s, k.Job) {
			next = 0 // there are more
			break
		}
		to = k.Index
	}
	if len(t.jobs) == 0 {
		return nil, waits, next
	}
	return &command.Retire{Jobs: t.jobs, ArchivedTo: to}, waits, next
}

// needed reports whether a job that has ended must stay: GPUs that it had still have to be verified as clean,
// or other jobs wait for it.
func needed(s *state.State, id model.JobID) bool {
	for k := range s.Owners.From(state.OwnerKey{Rank: model.RankKey{Job: id}}) {
		if k.Rank.Job == id {
			return true
		}
		break
	}
	for k := range s.Awaited.From(state.AwaitedKey{On: id}) {
		return k.On == id
	}
	return false
}
