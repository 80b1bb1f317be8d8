package intake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/strict"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Reader converts the jobs of one part to the form of an import.
type Reader struct {
	basis   *Basis
	scripts map[string]string
	envs    map[string]map[string]string
	usual   string // command of jobs without one

	Texts  []string
	places map[string]uint32 // of texts, from 1
	Jobs   []command.ImportedJob
	Again  int64 // that ran
	Ended  int64 // that are left out
}

// NewReader returns a reader of the jobs of one part.
func NewReader(basis *Basis, b *wire.ImportJobs) *Reader {
	return &Reader{basis: basis, scripts: b.Scripts, envs: b.Environments, usual: b.Command, places: map[string]uint32{}}
}

// All converts all jobs of the part.
func (r *Reader) All(b *wire.ImportJobs) error {
	if len(b.Jobs) > 0 && len(b.QueuedJobs) > 0 {
		return problem.Invalid("queuedJobs", "must not be given together with jobs")
	}
	if len(b.Jobs)+len(b.QueuedJobs) > model.MaxImportJobs {
		return problem.Invalid("jobs", fmt.Sprintf("must be at most %d in a part", model.MaxImportJobs))
	}
	for name, text := range b.Scripts { // order-free: any of several errors is as good as another
		if hashOf(text) != name {
			return problem.Invalid("scripts", "must have their SHA-256 as names: one differs, so that it was changed or cut off")
		}
	}
	for i, raw := range b.Jobs {
		if err := r.job(raw); err != nil {
			return problem.Under(problem.Nth("jobs", i), err)
		}
	}
	first, err := Count("first", b.First, 1, 1<<31, 1)
	if err != nil {
		return err
	}
	for i, raw := range b.QueuedJobs {
		if err := r.plain(raw, model.JobID(first)+model.JobID(i)); err != nil {
			return problem.Under(problem.Nth("queuedJobs", i), err)
		}
	}
	return nil
}

// job reads a job that an export wrote.
func (r *Reader) job(raw json.RawMessage) error {
	in, err := strict.New[wire.SavedJob]().Decode(raw)
	if err != nil {
		return err
	}
	id, err := JobID(in.ID)
	if err != nil {
		return problem.Invalid("id", "must be a job's number as text")
	}
	request, err := Parser().Decode(in.Request)
	if err != nil {
		return problem.Under("request", err)
	}
	if request.Script != "" || request.Stdin != "" || request.Env != nil || request.Shell != nil {
		return problem.Invalid("request", "must not contain script, stdin, env and submit_env: they belong under scripts and environments")
	}
	var known bool
	if request.Script, known = r.scripts[in.Script]; in.Script != "" && !known {
		return problem.Invalid("script_sha256", "must be one of the file's scripts")
	}
	if request.Stdin, known = r.scripts[in.Stdin]; in.Stdin != "" && !known {
		return problem.Invalid("stdin_sha256", "must be one of the file's scripts")
	}
	if request.Env, known = r.envs[in.Environment]; in.Environment != "" && !known {
		return problem.Invalid("environment_sha256", "must be one of the file's environments")
	}
	if request.Shell, known = r.envs[in.SubmitEnv]; in.SubmitEnv != "" && !known {
		return problem.Invalid("submit_environment_sha256", "must be one of the file's environments")
	}
	c, err := prepareImported(r.basis, request)
	if err != nil {
		return problem.Under("request", err)
	}
	j := r.imported(id, c, in.SubmittedAt)
	if c.Spec.Array != "" && in.Open != "" {
		if err := leave(c, in, &j); err != nil {
			return err
		}
	}
	return r.take(&j, in.State, "")
}

// leave keeps those tasks of an array that have not ended.
func leave(c *command.Submit, in *wire.SavedJob, j *command.ImportedJob) error {
	all, _ := model.ParseIndices(c.Spec.Array)
	open, err := model.ParseIndices(in.Open)
	if err != nil {
		return problem.Invalid("open_tasks", err.Error())
	}
	for _, n := range open {
		if !all.Has(n) {
			return problem.Invalid("open_tasks", "must be some of the array's")
		}
	}
	j.Spec.Array, j.Tasks = open.String(), uint32(len(open))
	if in.Held == "" {
		return nil
	}
	held, err := model.ParseIndices(in.Held)
	j.Held = held.String()
	return Named("held_tasks", err)
}

func (r *Reader) imported(id model.JobID, c *command.Submit, at time.Time) command.ImportedJob {
	j := command.ImportedJob{
		ID: id, Spec: c.Spec, Tasks: c.Tasks, Throttle: c.Throttle, After: c.After, Script: r.text(c.Script), Env: r.text(strings.Join(c.Env, "\x00")),
		Stdin:     r.text(c.Stdin),
		SubmitEnv: r.text(strings.Join(c.SubmitEnv, "\x00")),
	}
	if at.Year() >= 1970 && at.Year() < 2240 {
		j.Submitted = model.TimeOf(at)
	}
	return j
}

// text returns a text's place among those of the part, from 1; 0 if it is empty.
func (r *Reader) text(s string) uint32 {
	if s == "" {
		return 0
	}
	if _, known := r.places[s]; !known {
		r.Texts = append(r.Texts, s)
		r.places[s] = uint32(len(r.Texts))
	}
	return r.places[s]
}

// take adds a job that waited or ran; one that has ended is only counted.
func (r *Reader) take(j *command.ImportedJob, stood, was string) error {
	j.Note = "imported" + was
	switch strings.ToLower(stood) {
	case "", model.TaskQueued.String():
	case model.TaskScheduled.String(), model.TaskAllocating.String(), model.TaskRunning.String():
		j.Note += "; it was " + strings.ToLower(stood) + " there and is queued again"
		r.Again++
	case model.TaskCompleted.String(), model.TaskFailed.String(), model.TaskCanceled.String():
		r.Ended++
		return nil
	default:
		return problem.Invalid("state", "must be one of "+strings.Join(StateNames(), ", "))
	}
	j.Note = model.Clip(j.Note)
	r.Jobs = append(r.Jobs, *j)
	return nil
}

// plainJob is a job in a file of another program, with two names for each field.
type plainJob struct {
	ID       string         `json:"id" empty:"text"`
	JobID    string         `json:"job_id" empty:"text"`
	RunID    string         `json:"runId" empty:"text"`
	RunID2   string         `json:"run_id" empty:"text"`
	User     string         `json:"user" empty:"text"`
	Command  string         `json:"command" empty:"text"`
	Priority *int64         `json:"priority"`
	GPUs     *int64         `json:"requestedGpus"`
	GPUs2    *int64         `json:"gpu_count"`
	Memory   *float64       `json:"gpu_memory_gb"`
	Memory2  *float64       `json:"memory_gb"`
	At       time.Time      `json:"queuedAt"`
	At2      time.Time      `json:"submitted_at"`
	Wait     *float64       `json:"estimatedWaitTime"`
	Takes    *wire.Duration `json:"estimated_duration"`
	Takes2   *float64       `json:"estimated_duration_seconds"`
	State    string         `json:"state" empty:"text"`
	Status   string         `json:"status" empty:"text"`
}

// plain reads a job that another program wrote.
func (r *Reader) plain(raw json.RawMessage, id model.JobID) error {
	in, err := strict.New[plainJob]().Decode(raw)
	if err != nil {
		return err
	}
	gpus, err := same("requestedGpus", "gpu_count", in.GPUs, in.GPUs2)
	if err != nil {
		return err
	}
	stood := cmp.Or(in.State, in.Status)
	runs := cmp.Or(in.Command, r.usual)
	if strings.TrimSpace(runs) == "" {
		return problem.Invalid("command", "is missing: add a command to the job, or give one for all jobs without a command (--command)")
	}
	run := cmp.Or(in.RunID, in.RunID2)
	request := &wire.Submit{
		RunID: run, User: in.User, Command: runs, Priority: in.Priority, GPUs: gpus, GPUMemory: in.Memory, Memory: in.Memory2,
		Estimate: in.Takes, EstimateS: in.Takes2,
	}
	if in.Command == "" {
		request.Env = map[string]string{"RUN_ID": run, "JOB_ID": cmp.Or(in.ID, in.JobID)}
		maps.DeleteFunc(request.Env, func(_, v string) bool { return v == "" })
	}
	c, err := prepareImported(r.basis, request)
	if err != nil {
		return err
	}
	at := in.At
	if at.IsZero() {
		at = in.At2
	}
	was := ""
	if name := cmp.Or(in.ID, in.JobID); name != "" {
		was = "; job " + name + " there"
	}
	j := r.imported(id, c, at)
	return r.take(&j, stood, was)
}
