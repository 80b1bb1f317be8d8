package leader

import (
	"time"

	"github.com/berth-gpu/berth/cluster/liveness"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// limitsPause is how often attempts are checked for time limits that are near.
const limitsPause = 5 * time.Second

// nearLimit returns how much of its time limit an attempt has used when it is warned of.
func nearLimit(limit time.Duration) time.Duration { return limit / 5 * 4 }

// warnOfLimits returns the decider that announces, once for each, attempts that have used most of their time
// limit. That is only a notification: supervisors end the attempts.
func warnOfLimits(c *Config) func(*state.State) ([]command.Body, time.Duration) {
	var again time.Duration // when to look again, by the boot clock
	return func(s *state.State) ([]command.Body, time.Duration) {
		now := c.Clock.Boot()
		if now < again {
			return nil, again - now
		}
		again = now + limitsPause
		list, next := nearLimits(s, max(model.TimeOf(c.Clock.Wall()), s.Settings().Clock))
		if len(list) == 0 {
			return nil, max(next, limitsPause)
		}
		return []command.Body{&command.NearLimit{Attempts: list}}, limitsPause
	}
}

// nearLimits returns attempts without a warning, as many as fit into a command, and the time until the next
// is due.
func nearLimits(s *state.State, now model.Time) (list []model.AttemptKey, next time.Duration) {
	next = liveness.Never
	for k := range s.Live() {
		job, _ := s.Jobs.Get(k.Job)
		if job.Spec.TimeLimit == 0 {
			continue
		}
		task, _ := s.Tasks.Get(k)
		a, _ := s.Attempts.Get(task.Newest())
		if a.State != model.TaskRunning || a.Stop != model.ReasonNone || s.Warned.Has(a.Key) {
			continue
		}
		left := a.Started.Add(nearLimit(job.Spec.TimeLimit)).Sub(now)
		switch {
		case left > 0:
			next = min(next, left)
		case len(list) < command.MaxMarks:
			list = append(list, a.Key)
		}
	}
	return list, next
}
