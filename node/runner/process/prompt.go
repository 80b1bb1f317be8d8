package process

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// prompts are the signals that a job has asked for while it runs. They go to those of its processes that wait
// for them.
type prompts struct {
	warned time.Duration // time limit that the job was warned of; 0: not yet
	saved  fence.Boot    // when it was last asked for a checkpoint; 0: not yet
}

// limit returns how long a rank may run; 0: no limit.
func limit(r *runner.Record, o *runner.Orders) time.Duration {
	if o.TimeLimit > 0 {
		return o.TimeLimit
	}
	return r.Frozen.TimeLimit
}

// due returns the signals that are due at now. A limit that was raised causes a further warning.
func (p *prompts) due(now, began fence.Boot, limit time.Duration, s *model.Spec) (names []string) {
	if s.WarnSignal != "" && limit > 0 && p.warned != limit && now.Sub(began) >= limit-s.WarnBefore {
		p.warned = limit
		name := s.WarnSignal
		if s.Slurm != "" {
			name = jobfile.WarnName // the launcher sends the job's own signal
		}
		names = append(names, name)
	}
	if s.CheckpointInterval > 0 && now.Sub(max(p.saved, began)) >= s.CheckpointInterval {
		p.saved = now
		names = append(names, s.CheckpointSignal)
	}
	return names
}
