package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// maxTurnTasks bounds the tasks of the jobs that one command handles, except for the first job.
const maxTurnTasks = 4096

// overdueAgain is the pause before named jobs that are unchanged are checked again: by the state's clock
// their deadline had not come yet.
const overdueAgain = time.Second

// takeTurns returns the commands that pass the ends and begins of jobs on to dependent jobs, and end jobs whose deadline
// has come.
func takeTurns(s *state.State, wall model.Time) (out []command.Body, next time.Duration) {
	now := max(wall, s.Settings().Clock)
	b, next := settled(s, now)
	if b != nil {
		out = append(out, b)
	}
	b, wait := overdue(s, now)
	if b != nil {
		out = append(out, b)
	}
	return out, min(next, wait)
}

// turn is a list of jobs that is bounded by its length and by their tasks.
type turn struct {
	jobs  []model.JobID
	tasks int
	most  int // jobs
}

// add reports whether there was room.
func (t *turn) add(s *state.State, id model.JobID) bool {
	job, _ := s.Jobs.Get(id)
	t.tasks += int(job.Tasks)
	if len(t.jobs) > 0 && (len(t.jobs) == t.most || t.tasks > maxTurnTasks) {
		return false
	}
	t.jobs = append(t.jobs, id)
	return true
}

// settled returns the command for jobs that wait for one that has ended or begun, or for the end of a delay, and the time until
// the next delay ends.
func settled(s *state.State, now model.Time) (b command.Body, next time.Duration) {
	t := turn{most: command.MaxSettled}
	next = liveness.Never
	for k := range s.Delayed.All() {
		if next = overdueAgain; k.At > now {
			next = k.At.Sub(now)
		}
		break
	}
	seen := map[model.JobID]bool{}
	for id := range s.Settled(now) {
		if s.Settling.Len() > 0 {
			next = 0 // there may be more
		}
		if !seen[id] && !t.add(s, id) {
			break
		}
		seen[id] = true
	}
	if len(t.jobs) == 0 {
		return nil, next
	}
	return &command.Settle{Jobs: t.jobs}, next
}

// overdue returns the command for jobs whose deadline has come, and the time until the next one.
func overdue(s *state.State, now model.Time) (b command.Body, next time.Duration) {
	t := turn{most: command.MaxOverdue}
	next = liveness.Never
	for k := range s.Deadlines.All() {
		if k.At > now {
			next = min(next, k.At.Sub(now))
			break
		}
		if !unstopped(s, k.Job, model.ReasonDeadline) {
			continue
		}
		if next = overdueAgain; !t.add(s, k.Job) {
			break
		}
	}
	if len(t.jobs) == 0 {
		return nil, next
	}
	return &command.Overdue{Jobs: t.jobs}, next
}
