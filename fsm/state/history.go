package state

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// HistoryTasks is how many tasks of an array one part of its history holds.
const HistoryTasks = 1000

// History is what the state holds of a job, or of some tasks of an array: the part that is archived when the
// job leaves the state. What the job ran with is not in it: script, input and environments may hold secrets.
type History struct {
	Job          model.Job        `cbor:"1,keyasint"`
	Tasks        []model.Task     `cbor:"2,keyasint,omitempty"`
	Events       []model.Event    `cbor:"3,keyasint,omitempty"`
	Attempts     []model.Attempt  `cbor:"4,keyasint,omitempty"`
	Ranks        []model.Rank     `cbor:"5,keyasint,omitempty"`
	RankGPUs     []model.RankGPU  `cbor:"6,keyasint,omitempty"`
	Dependencies []dependency.Row `cbor:"7,keyasint,omitempty"`
}

// Histories returns the parts of a job's history, of [HistoryTasks] tasks each, in
// order; none if there is no such job.
func (s *State) Histories(id model.JobID) (parts []History) {
	job, found := s.Jobs.Get(id)
	if !found {
		return nil
	}
	first := History{Job: job, Dependencies: s.DependenciesOf(id)}
	parts = append(parts, first)
	for k, task := range s.Tasks.From(model.TaskKey{Job: id}) {
		if k.Job != id {
			break
		}
		part := &parts[len(parts)-1]
		if len(part.Tasks) == HistoryTasks {
			parts = append(parts, History{Job: job})
			part = &parts[len(parts)-1]
		}
		part.Tasks = append(part.Tasks, task)
		addTask(s, part, k)
	}
	return parts
}

// addTask adds what belongs to a task.
func addTask(s *State, h *History, k model.TaskKey) {
	for at, e := range s.Events.From(model.EventKey{Job: k.Job, Task: k.Task}) {
		if at.Job != k.Job || at.Task != k.Task {
			break
		}
		h.Events = append(h.Events, e)
	}
	for at, a := range s.Attempts.From(model.AttemptKey{Job: k.Job, Task: k.Task}) {
		if at.TaskKey() != k {
			break
		}
		h.Attempts = append(h.Attempts, a)
	}
	for at, r := range s.Ranks.From(model.RankKey{Job: k.Job, Task: k.Task}) {
		if at.Attempt().TaskKey() != k {
			break
		}
		h.Ranks = append(h.Ranks, r)
	}
	for at, g := range s.RankGPUs.From(model.RankGPUKey{Rank: model.RankKey{Job: k.Job, Task: k.Task}}) {
		if at.Rank.Attempt().TaskKey() != k {
			break
		}
		h.RankGPUs = append(h.RankGPUs, g)
	}
}

// Encode returns the history as bytes, alike for alike ones.
func (h *History) Encode() ([]byte, error) {
	data, err := digest.Rows.Plain.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encoding the history of job %s: %w", h.Job.ID, err)
	}
	return data, nil
}

// DecodeHistory decodes a result of Encode. An *[command.UnknownError] means a newer program's history.
func DecodeHistory(data []byte) (h History, err error) {
	if err = digest.Rows.Dec.Unmarshal(data, &h); err == nil {
		return h, nil
	}
	if digest.IsUnknownField(err) {
		return h, &command.UnknownError{What: "a field of a job's history"}
	}
	return h, fmt.Errorf("%w: a job's history: %w", ErrCorrupt, err)
}

// outline is the part of a history with a job's GPUs over time.
type outline struct {
	Job      model.Job       `cbor:"1,keyasint"`
	Tasks    []model.Task    `cbor:"2,keyasint,omitempty"`
	Attempts []model.Attempt `cbor:"4,keyasint,omitempty"`
	Ranks    []model.Rank    `cbor:"5,keyasint,omitempty"`
}

// DecodeOutline is DecodeHistory without events, dependencies, texts and the numbers of GPUs.
func DecodeOutline(data []byte) (History, error) {
	var o outline
	if err := digest.Rows.Some.Unmarshal(data, &o); err != nil {
		return History{}, fmt.Errorf("%w: a job's history: %w", ErrCorrupt, err)
	}
	return History{Job: o.Job, Tasks: o.Tasks, Attempts: o.Attempts, Ranks: o.Ranks}, nil
}

// Recall returns a state with nothing but parts of one job's history, for reading the job as it was. Commands
// must not be applied to it.
func Recall(parts ...History) (s State) {
	for i := range parts {
		h := &parts[i]
		fill(&s.Jobs, []model.Job{h.Job}, func(r model.Job) model.JobID { return r.ID })
		fill(&s.Tasks, h.Tasks, func(r model.Task) model.TaskKey { return r.Key })
		fill(&s.Events, h.Events, func(r model.Event) model.EventKey { return r.Key })
		fill(&s.Attempts, h.Attempts, func(r model.Attempt) model.AttemptKey { return r.Key })
		fill(&s.Ranks, h.Ranks, func(r model.Rank) model.RankKey { return r.Key })
		fill(&s.RankGPUs, h.RankGPUs, func(r model.RankGPU) model.RankGPUKey { return r.Key })
		fill(&s.Dependencies, h.Dependencies, func(r dependency.Row) dependency.Key { return r.Key })
	}
	return s
}

func fill[K table.Key[K], R any](to *table.Table[K, R], list []R, key func(R) K) {
	d := to.Fork()
	for _, row := range list {
		d.Put(key(row), row)
	}
	*to = d.Table()
}
