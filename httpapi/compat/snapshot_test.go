package compat_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func export(s *apitest.Site) *wire.Snapshot {
	s.T.Helper()
	out := &wire.Snapshot{}
	s.Do(http.MethodGet, "/snapshot", "").Into(out)
	return out
}

// bring imports what another cluster has exported, as the command line does.
func bring(s *apitest.Site, from *wire.Snapshot, each int) {
	s.T.Helper()
	q := &from.JobQueue.Saved
	parts := slices.Collect(slices.Chunk(q.Jobs, each))
	post := func(path string, body any) {
		s.T.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			s.T.Fatal(err)
		}
		var done wire.Imported
		s.Do(http.MethodPost, "/snapshot/import"+path, string(raw)).Into(&done)
	}
	post("", wire.BeginImport{ImportID: apitest.ImportName, Parts: new(int64(len(parts)))})
	for i, part := range parts {
		body := wire.ImportJobs{ImportID: apitest.ImportName, Part: new(int64(i)), Scripts: q.Scripts, Environments: q.Environments}
		for _, j := range part {
			raw, err := json.Marshal(j)
			if err != nil {
				s.T.Fatal(err)
			}
			body.Jobs = append(body.Jobs, raw)
		}
		post("/jobs?dry_run=true", body)
		post("/jobs", body)
		post("/jobs", body) // as after a leader that died before it answered
	}
	raw, err := json.Marshal(from.Orchestrator.Saved.Arrangement)
	if err != nil {
		s.T.Fatal(err)
	}
	post("/settings", wire.ImportSettings{ImportID: apitest.ImportName, Settings: raw})
	if raw, err = json.Marshal(wire.Arrangement{Services: from.Allocation.Saved.Services}); err != nil {
		s.T.Fatal(err)
	}
	for range 2 { // as after a leader that died before it answered
		post("/settings", wire.ImportSettings{ImportID: apitest.ImportName, Settings: raw})
	}
	post("/end", wire.EndImport{ImportID: apitest.ImportName})
	s.With(func(c *statetest.Cluster) {
		if err := check.State(&c.State); err != nil {
			s.T.Error(err)
		}
	})
}

// carried is what an export and that of the cluster that was begun from it have alike:
// not what jobs did on the old one, nor the place in the log.
func carried(t *testing.T, s *wire.Snapshot) string {
	t.Helper()
	q, set := s.JobQueue.Saved, s.Orchestrator.Saved
	q.Saved, set.Saved, q.LeftOut = wire.Saved{}, wire.Saved{}, wire.SavedLeftOut{}
	q.Jobs = slices.Clone(q.Jobs)
	for i := range q.Jobs {
		q.Jobs[i].State = "queued"
	}
	services := slices.SortedFunc(slices.Values(s.Allocation.Saved.Services),
		func(a, b wire.SavedService) int { return strings.Compare(a.ID, b.ID) })
	raw, err := json.MarshalIndent([]any{q, set, services}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Whatever was submitted and came of it: export, import and export again give the same.
func TestExportsComeBack(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			old := inhabitedSite(t, r)
			first := export(old)
			if len(first.JobQueue.Saved.Jobs) < 15 || len(first.Allocation.Saved.Services) < 4 {
				t.Fatalf("only %d jobs and %d services were exported", len(first.JobQueue.Saved.Jobs), len(first.Allocation.Saved.Services))
			}
			young := apitest.New(t)
			bring(young, first, 1+r.IntN(40))
			if a, b := carried(t, first), carried(t, export(young)); a != b {
				t.Errorf("exported was\n%s\nand then\n%s", a, b)
			}
			s := young.State()
			if d := s.Settings().Defaults; d.Name != "lab" || d.Class != model.ClassLow || d.IdleStop != 2*time.Hour ||
				d.CheckpointInterval != time.Hour {
				t.Errorf("jobs that say nothing else have %+v", d)
			}
			for _, j := range s.Jobs.All() {
				e, _ := s.Events.Get(model.EventKey{Job: j.ID, Task: firstNumber(&s, j.ID)})
				if !strings.HasPrefix(e.Detail, "imported") {
					t.Errorf("the timeline of job %s begins with %+v", j.ID, e)
				}
			}
		})
	}
}

func firstNumber(s *state.State, id model.JobID) uint32 {
	task, _ := s.FirstTask(id)
	return task.Key.Task
}

// randomService is the body of a service's request.
func randomService(r *rand.Rand) string {
	body := fmt.Sprintf(`{"service_name": "s%d", "user": "u%d", "priority": %d, "gpu_count": %d`, r.IntN(4), r.IntN(3), 1+r.IntN(10), 1+r.IntN(2))
	for _, more := range []string{
		`"ttl": "3h"`, `"ttl": 0`, `"project": "p"`, `"workload_type": "ocr"`, `"workload_data": {"b": 1, "a": [2]}`, `"gpu_memory_gb": 0.5`,
		`"gpu_type": "H100"`, `"constraint": "!spot"`, `"nodelist": ["n1", "n2"]`, `"exclude": ["n9"]`, `"webhook_url": "https://hooks.example.com/x"`,
	} {
		if r.IntN(3) == 0 && !strings.Contains(body, more[:5]) {
			body += ", " + more
		}
	}
	return body + "}"
}

// inhabitedSite is a cluster on which people have done all sorts of things.
func inhabitedSite(t *testing.T, r *rand.Rand) *apitest.Site {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 8) })
	for range 60 {
		s.Submit(randomRequest(r)) // some are refused
	}
	for range 12 {
		s.Do(http.MethodPost, "/gpu/allocate", randomService(r)) // likewise
	}
	s.With(func(c *statetest.Cluster) {
		for id, j := range c.State.Jobs.All() {
			task, _ := c.State.FirstTask(id)
			switch r.IntN(6) {
			case 0:
				c.Try(&command.Cancel{Job: id, Task: int64(task.Key.Task)})
			case 1:
				c.Try(&command.Hold{Job: id, Task: int64(task.Key.Task)})
			case 2:
				c.Try(&command.SetPriority{Job: id, Class: 4, Priority: 9})
			case 3:
				if j.Spec.GPUs == 1 && j.Waits == 0 && !task.Held && task.NotBefore == 0 && c.State.LiveTasks.Len() < 6 &&
					task.State == model.TaskQueued {
					c.Start(c.PlaceTask(task.Key))
				}
			}
		}
	})
	for path, body := range map[string]string{
		"/users/ann":               `{"role": "user", "join": ["vision", "text"]}`,
		"/users/root":              `{"role": "admin"}`,
		"/quotas/cluster":          fmt.Sprintf(`{"queued": %d, "max_run_time": "7d", "gpus_per_user": 5}`, 1+r.IntN(9)),
		"/quotas/user/ann":         fmt.Sprintf(`{"gpus": %d, "gpus_per_job": 1, "gpu_hours": 0.7, "period": "7d", "over_quota": "lower"}`, r.IntN(9)),
		"/quotas/project/text":     `{"reserved_gpus": 2, "preemptible": false, "running": 3}`,
		"/shares/user/ann":         `{"shares": 250}`,
		"/orchestrator/policy":     `{"policy": "gang", "parameters": {"half_life": "72h", "max_retries": "2"}}`,
		"/orchestrator/allocation": `{"mode": "hybrid", "reserved_ratio": 0.25}`,
		"/reservations/limits":     `{"percent": 20, "longest": "2d"}`,
	} {
		if got := s.Do(http.MethodPut, path, body); got.Status != http.StatusOK {
			t.Fatalf("%s: %s", path, got.Body)
		}
	}
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetDefaults{Defaults: model.Defaults{
			Name: "lab", Class: model.ClassLow, IdleStop: 2 * time.Hour,
			CheckpointInterval: time.Hour,
		}})
	})
	return s
}

func randomRequest(r *rand.Rand) string {
	b := map[string]any{"user": []string{"ann", "bob"}[r.IntN(2)], "gpu_count": 1 + r.IntN(3), "priority": 1 + r.IntN(10)}
	maybe := func(of int, name string, v any) {
		if r.IntN(of) == 0 {
			b[name] = v
		}
	}
	switch r.IntN(3) {
	case 0:
		b["command"] = "train --größe 1 && echo '\u2028'"
	case 1:
		b["args"] = []string{"python", "train.py", "", "a b"}
	default:
		b["script"] = "#!/bin/sh\n# " + strings.Repeat("x", r.IntN(3)) + "\nmake\n"
	}
	maybe(3, "env", map[string]string{"A": "1", "B": strings.Repeat("=", r.IntN(3)), "A_B": "z"})
	maybe(3, "submit_env", map[string]string{"HOME": "/users/ann", "BASH_FUNC_ml%%": "() {  :\n}"})
	maybe(3, "project", "vision")
	maybe(3, "run_id", "exp 1")
	maybe(3, "umask", "0007")
	maybe(3, "name", "nächtlich")
	maybe(3, "workdir", "/data/x")
	maybe(4, "gpu_memory_gb", []float64{0.001, 4.097, 40, 79.999}[r.IntN(4)])
	maybe(4, "host_memory_gb", 16.5)
	maybe(4, "cpus", 4)
	maybe(4, "gpu_type", "h100 80gb")
	maybe(4, "constraint", "zone=a,!spot")
	maybe(4, "nodelist", []string{"n1", "gpu[01-03]"})
	maybe(4, "exclude", []string{"n2"})
	maybe(4, "placement", "spread")
	maybe(3, "time_limit", []string{"30m", "7200.5s", "3d"}[r.IntN(3)])
	maybe(3, "estimated_duration", "1h30m")
	maybe(3, "max_retries", r.IntN(4))
	maybe(4, "retry_on", []int{137, 75})
	maybe(3, "preemptible", r.IntN(2) == 0)
	maybe(5, []string{"hold", "lead"}[r.IntN(2)], true)
	maybe(4, "on_lost", []string{"requeue", "hold", "fail"}[r.IntN(3)])
	maybe(4, "grace", r.IntN(60))
	if r.IntN(4) == 0 {
		b["checkpoint_signal"], b["checkpoint_interval"], b["checkpoint_grace"], b["slurm"] = "USR1", "10m", "45s", map[string]any{"tasks": 4}
	}
	switch r.IntN(6) {
	case 0:
		b["array_indices"], b["array_limit"] = "0-20:5,7", 2
	case 1:
		b["params"] = []string{"lr=1e-3,1e-4", "seed=1..3"}
	}
	if r.IntN(4) == 0 {
		b["webhook_url"], b["notify"] = "https://hooks.example.com/x", []string{"started", "failed"}
	}
	maybe(6, "idle_stop", "30m")
	maybe(6, "begin", "+2h")
	maybe(6, "deadline", "+90m")
	maybe(5, "dependencies", []string{[]string{"afterok:", "afterany:", "afternotok:", "aftercorr:", "after:9+3?after:"}[r.IntN(5)] + strconv.Itoa(1+r.IntN(8))})
	raw, _ := json.Marshal(b)
	return string(raw)
}

// The queue as the technical design writes it, and as its Python class does.
func TestThePlainFormIsImported(t *testing.T) {
	s := apitest.New(t)
	var done wire.Imported
	begin := fmt.Sprintf(`{"import_id": "%s", "parts": 1}`, apitest.ImportName)
	s.Do(http.MethodPost, "/snapshot/import", begin).Into(&done)
	jobs := `{"id": "j-1", "runId": "exp-1", "user": "ann", "priority": 3, "requestedGpus": 4, "queuedAt": "2026-01-31T20:00:00Z", "estimatedWaitTime": 90}`
	python := `{"id": "j-2", "user": "bob", "command": "python train.py", "gpu_count": 2, "gpu_memory_gb": 40.0, "priority": 2,
		"submitted_at": "2026-01-31T20:05:00Z", "estimated_duration": 3600, "state": "running"}`
	gone := `{"id": "j-3", "user": "bob", "command": "python train.py", "gpu_count": 2, "status": "completed"}`
	body := fmt.Sprintf(`{"import_id": "%s", "part": 0, "first": 1, "queuedJobs": [%s, %s, %s]`, apitest.ImportName, jobs, python, gone)
	s.Do(http.MethodPost, "/snapshot/import/jobs", body+"}").About("queuedJobs[0].command")
	s.Do(http.MethodPost, "/snapshot/import/jobs", body+`, "command": "python launch.py $RUN_ID"}`).Into(&done)
	if done.Jobs != 2 || done.Again != 1 || done.Ended != 1 || done.State != "open" {
		t.Errorf("the import is %+v", done)
	}
	s.Do(http.MethodPost, "/snapshot/import/end", fmt.Sprintf(`{"import_id": "%s"}`, apitest.ImportName)).Into(&done)
	var first, second wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "").Into(&first)
	s.Do(http.MethodGet, "/jobs/2", "").Into(&second)
	if first.RunID != "exp-1" || first.GPUs != 4 || first.Priority != 3 || first.Command != "python launch.py $RUN_ID" ||
		!first.SubmittedAt.Equal(time.Date(2026, 1, 31, 20, 0, 0, 0, time.UTC)) || first.Timeline[0].Detail != "imported; job j-1 there" {
		t.Errorf("the first is %+v", first)
	}
	if second.GPUMemoryGB != 40 || second.EstimateSeconds != 3600 || second.State != "queued" ||
		second.Timeline[0].Detail != "imported; job j-2 there; it was running there and is queued again" {
		t.Errorf("the second is %+v", second)
	}
}

// An export has the documented fields, and is of one place of the log.
func TestTheStateFiles(t *testing.T) {
	s := apitest.TwoNodes(t)
	s.Submit(`{"command": "python train.py", "run_id": "exp", "gpu_count": 2}`)
	s.Submit(`{"command": "python train.py", "gpu_count": 9}`)
	s.With(func(c *statetest.Cluster) { c.Start(c.Place(1)) })
	apitest.WalkThrough(t, s, []apitest.Step{{Method: http.MethodGet, Path: "/snapshot", Body: "", Want: map[string]any{
		"cluster_state.gpuResources.nodes.0.gpus.0.allocatedTo":      "1",
		"cluster_state.rayCluster.connected":                         false,
		"job_queue.queuedJobs.0.id":                                  "2",
		"job_queue.queuedJobs.0.requestedGpus":                       9.0,
		"job_queue.statistics.totalQueued":                           1.0,
		"orchestrator_state.running":                                 true,
		"orchestrator_state.policy":                                  "fcfs",
		"orchestrator_state.policies.policy_config.policy":           "fcfs",
		"gpu_allocation.runs.0.gpuAllocation.allocatedGpus.0.nodeId": "gmi-node-1",
		"job_queue.berth.jobs.0.state":                               "running",
		"job_queue.berth.jobs.1.request.gpu_count":                   9.0,
		"job_queue.berth.format":                                     1.0,
	}}})
	all := export(s)
	index := int64(s.State().Index)
	for _, saved := range []wire.Saved{
		all.ClusterState.Saved, all.JobQueue.Saved.Saved, all.Orchestrator.Saved.Saved,
		all.Allocation.Saved.Saved,
	} {
		if saved.Index != index || saved.Format != wire.SnapshotFormat {
			t.Errorf("a file is of %+v, the state of %d", saved, index)
		}
	}
}

// Numbers that do not fit into one array become several jobs.
func TestScatteredTasksBecomeSeveralJobs(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command": "true", "array_size": 10000}`)
	s.With(func(c *statetest.Cluster) {
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 10_000 {
			if r.IntN(2) == 0 {
				c.Do(&command.Cancel{Job: 1, Task: int64(n)})
			}
		}
	})
	all := export(s)
	job, _ := s.State().Jobs.Get(1)
	sum := int64(0)
	for i, j := range all.JobQueue.Saved.Jobs {
		sum += j.Tasks
		if want := []string{"1", strconv.Itoa(1 + i)}[min(i, 1)]; j.ID != want {
			t.Errorf("piece %d is job %s", i, j.ID)
		}
	}
	if sum != int64(job.Open) || len(all.JobQueue.Saved.Jobs) < 2 {
		t.Errorf("%d tasks in %d pieces, open are %d", sum, len(all.JobQueue.Saved.Jobs), job.Open)
	}
	young := apitest.New(t)
	bring(young, all, 1)
	if a, b := carried(t, all), carried(t, export(young)); a != b {
		t.Error("the second export differs")
	}
}

func TestRefusedImports(t *testing.T) {
	s := apitest.New(t)
	one := func(path, body string) *apitest.Reply { return s.Do(http.MethodPost, "/snapshot/import"+path, body) }
	id := `"import_id": "` + apitest.ImportName + `"`
	job := func(more string) string {
		return `{` + id + `, "part": 0, "jobs": [{"id": "1", "state": "queued", "tasks": 1` + more + `}]}`
	}
	one("", `{"import_id": "xyz", "parts": 1}`).About("import_id")
	one("", `{`+id+`, "parts": -1}`).About("parts")
	one("", `{`+id+`, "parts": 1, "extra": 1}`).About("extra")
	one("/jobs", job(``)).Problem(http.StatusBadRequest, "malformed")
	one("/jobs", job(`, "request": {"command": "x", "gpu_count": -3}`)).About("jobs[0].request.gpu_count")
	one("/jobs", job(`, "request": {"command": "x", "colour": "red"}`)).About("jobs[0].request.colour")
	one("/jobs", job(`, "request": {"command": "x", "script": "y"}`)).About("jobs[0].request")
	one("/jobs", job(`, "request": {"command": "x"}, "script_sha256": "12"`)).About("jobs[0].script_sha256")
	one("/jobs", job(`, "request": {"command": "x", "array_size": 3}, "open_tasks": "2-5"`)).About("jobs[0].open_tasks")
	one("/jobs", `{`+id+`, "part": 0, "scripts": {"12": "x"}}`).About("scripts")
	one("/jobs", job(`, "request": {"command": "x"}`)).Problem(http.StatusConflict, "conflict")
	one("/settings", `{`+id+`, "settings": {"users": [{"name": "ann", "role": "king"}]}}`).About("settings.users[0].role")
	one("/settings", `{`+id+`, "settings": {"users": [{"name": "ann", "colour": "red"}]}}`).About("settings")
	one("/settings", `{`+id+`, "settings": {"defaults": {"priority": 9}}}`).About("settings.defaults.priority")
	one("/settings", `{`+id+`, "settings": {"defaults": {"idle_stop": "1s"}}}`).About("settings.defaults.idle_stop")
	service := func(more string) string {
		return `{` + id + `, "settings": {"services": [{"id": "web-1", "user": "ann"` + more + `}]}}`
	}
	one("/settings", service(`, "request": {"service_name": "web", "gpu_count": -1}`)).About("settings.services[0].request.gpu_count")
	one("/settings", service(`, "request": {"service_name": "web", "user": "bob"}`)).About("settings.services[0].request")
	one("/settings", service(`, "colour": "red"`)).About("settings")
	one("/settings", service(`, "request": {"service_name": "web"}`)).Problem(http.StatusConflict, "conflict")
	one("/settings", `{`+id+`, "settings": {"policy": "fcfs"}}`).Problem(http.StatusConflict, "conflict")
	one("/end", `{`+id+`}`).Problem(http.StatusConflict, "conflict")
	if n := s.State().Jobs.Len(); n != 0 {
		t.Errorf("%d jobs have come", n)
	}
	one("/end", `{"short": true}`).Problem(http.StatusConflict, "conflict")
	s.Submit(`{"command": "x"}`)
	one("?dry_run=true", `{`+id+`, "parts": 1}`).Problem(http.StatusConflict, "conflict")
}
