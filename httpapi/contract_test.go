package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The published examples of requests work as they are written, and the answers
// have the fields that the examples read.
func TestPublishedExamples(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		c.Node("gmi-node-1", 8)
		c.Node("gmi-node-2", 8)
	})
	var first, second wire.Submitted
	s.Submit(`{"run_id": "experiment-1", "user": "username", "command": "python train.py", "gpu_count": 2, "priority": 2}`).Into(&first)
	if !first.Success || first.JobID != "1" || first.QueuePosition != 1 || first.Job.ID != "1" || first.Job.RunID != "experiment-1" ||
		first.Job.State != "queued" || first.Job.GPUs != 2 || first.Job.Priority != 2 {
		t.Errorf("submitted %+v", first)
	}
	s.Submit(`{"run_id": "bert-training", "user": "researcher1", "command": "python train.py --model bert-large --epochs 10",
		"gpu_count": 4, "gpu_memory_gb": 40, "priority": 3, "estimated_duration_seconds": 3600}`).Into(&second)
	if second.JobID != "2" || second.Job.GPUMemoryGB != 40 || second.Job.EstimateSeconds != 3600 {
		t.Errorf("submitted %+v", second)
	}
	queue := apitest.Object(t, s.Do(http.MethodGet, "/queue", ""))
	if len(apitest.List(t, queue["queued"])) != 2 || len(apitest.List(t, queue["running"])) != 0 {
		t.Errorf("the queue is %v", queue)
	}
	status := apitest.Object(t, s.Do(http.MethodGet, "/gpu/status", ""))
	cluster := apitest.Within(t, status, "cluster_status")
	if cluster["total_gpus"] != 16.0 || cluster["available_gpus"] != 16.0 || cluster["utilization_percent"] != 0.0 {
		t.Errorf("the status is %v", cluster)
	}
	orchestrator := apitest.Object(t, s.Do(http.MethodGet, "/orchestrator/status", ""))
	if got := slices.Sorted(maps.Keys(apitest.Within(t, orchestrator, "queue_summary"))); !slices.Equal(got,
		[]string{"canceled", "completed", "failed", "queued", "running", "total_jobs"}) {
		t.Errorf("the summary has %v", got)
	}
	for _, name := range []string{"jobs_scheduled", "jobs_completed", "jobs_failed", "scheduling_cycles"} {
		if _, has := apitest.Within(t, orchestrator, "stats")[name]; !has {
			t.Errorf("the stats lack %s", name)
		}
	}
	statistics := apitest.Object(t, s.Do(http.MethodGet, "/queue/statistics", ""))
	for _, name := range []string{"totalQueued", "averageWaitTime", "queueThroughput"} {
		if _, has := statistics[name]; !has {
			t.Errorf("the statistics lack %s", name)
		}
	}
}

func TestChangesOfJobs(t *testing.T) {
	s := apitest.New(t)
	for range 2 {
		s.Submit(`{"command": "sleep 1"}`).Into(new(wire.Submitted))
	}
	var done wire.Done
	s.Do(http.MethodPatch, "/queue/1/priority", `{"priority": 3}`).Into(&done)
	if !done.Success || done.JobID != "1" || done.State != "queued" {
		t.Errorf("the change answers %+v", done)
	}
	s.Do(http.MethodDelete, "/queue/2?note=no%20longer", "").Into(&done)
	if done.State != "canceled" {
		t.Errorf("the cancel answers %+v", done)
	}
	var job wire.Detail
	s.Do(http.MethodGet, "/jobs/2", "").Into(&job)
	last := job.Timeline[len(job.Timeline)-1]
	if job.State != "canceled" || last.Event != "canceled" || last.Detail != "no longer" || job.EndedAt.IsZero() || job.Reason != "canceled" {
		t.Errorf("the job is %+v", job)
	}
	s.Do(http.MethodGet, "/jobs/1", "").Into(&job)
	if job.Priority != 3 || job.Explanation == nil || job.Explanation.Summary == "" {
		t.Errorf("the job is %+v", job)
	}
	s.Do(http.MethodDelete, "/queue/2", "").Problem(http.StatusConflict, "already_ended")
	s.Do(http.MethodPatch, "/queue/1/priority", `{"priority": 11}`).About("priority")
	s.Do(http.MethodPatch, "/queue/1/priority", `{}`).About("priority")
	s.Do(http.MethodPatch, "/queue/1/priority", `{"priorities": 1}`).About("priorities")
	for _, id := range []string{"99", "0", "01", "-1", "x", "18446744073709551616", "1e3", "%F0%9F%92%A9"} {
		s.Do(http.MethodGet, "/jobs/"+id, "").Problem(http.StatusNotFound, wire.CodeNotFound)
		s.Do(http.MethodDelete, "/queue/"+id, "").Problem(http.StatusNotFound, wire.CodeNotFound)
	}
	s.Do(http.MethodGet, "/jobs/1?task=1", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodDelete, "/queue/1?task=-1", "").About("task")
}

func TestTheOrchestratorIsSwitched(t *testing.T) {
	s := apitest.New(t)
	var switched wire.Switched
	s.Do(http.MethodPost, "/orchestrator/stop", "").Into(&switched)
	var o wire.Orchestrator
	s.Do(http.MethodGet, "/orchestrator/status", "").Into(&o)
	if !switched.Success || switched.Running || o.Running {
		t.Errorf("stopped: %+v, status %+v", switched, o)
	}
	s.Do(http.MethodPost, "/orchestrator/start", "").Into(&switched)
	s.Do(http.MethodPut, "/orchestrator/policy", `{"policy": "fcfs"}`).Into(&o)
	if !o.Running || o.Policy != "fcfs" || o.Stats.SchedulingCycles != 4 || o.AveragePassMicro != 250 {
		t.Errorf("started: %+v", o)
	}
	s.Do(http.MethodPut, "/orchestrator/policy", `{"policy": "by-colour"}`).About("policy")
}

// What runs is told with its GPUs, what has ended with its end.
func TestAJobsLife(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command": "train", "gpu_count": 2, "user": "ann"}`).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		a := c.Place(1)
		c.Start(a)
	})
	var queue wire.Queue
	s.Do(http.MethodGet, "/queue", "").Into(&queue)
	if len(queue.Running) != 1 || len(queue.Queued) != 0 || len(queue.Running[0].AllocatedGPUs) != 2 || queue.Running[0].State != "running" {
		t.Fatalf("the queue is %+v", queue)
	}
	var status wire.GPUStatus
	s.Do(http.MethodGet, "/gpu/status", "").Into(&status)
	gpu := status.Nodes[0].GPUs[0]
	if status.ClusterStatus.AllocatedGPUs != 2 || status.ClusterStatus.UtilizationPercent != 50 || gpu.AllocatedTo != "1" || gpu.User != "ann" ||
		gpu.State != "allocated" || status.Nodes[0].FreeGPUs != 2 || status.Nodes[0].Jobs != 1 {
		t.Errorf("the GPUs are %+v", status)
	}
	var done wire.Done
	s.Do(http.MethodDelete, "/queue/1", "").Into(&done)
	var job wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "").Into(&job)
	if done.State != "running" || job.Stopping == nil || job.Stopping.Reason != "canceled" || !job.Stopping.Deadline.After(job.SubmittedAt) {
		t.Errorf("being canceled: %+v %+v", done, job.Stopping)
	}
	s.Submit(`{"command": "fails"}`).Into(new(wire.Submitted))
	s.With(func(c *statetest.Cluster) {
		b := c.Place(2)
		c.Start(b)
		c.Exit(b, 3)
	})
	s.Do(http.MethodGet, "/queue?ended=5&state=failed", "").Into(&queue)
	if len(queue.Ended) != 1 || queue.Ended[0].ExitCode == nil || *queue.Ended[0].ExitCode != 3 || queue.Ended[0].Reason != "exit code 3" {
		t.Errorf("ended: %+v", queue.Ended)
	}
}

func TestPagesOfTheQueue(t *testing.T) {
	s := apitest.New(t)
	apitest.Fill(s, 300)
	s.With(func(c *statetest.Cluster) {
		c.Do(statetest.Job(1, func(b *command.Submit) { b.Tasks = 5 }))
		c.Do(&command.Hold{Job: 7, Task: model.AllTasks})
	})
	var ids []string
	path, pages := "/queue?limit=70", 0
	for after := ""; pages < 10; pages++ {
		var q wire.Queue
		s.Do(http.MethodGet, path+after, "").Into(&q)
		for _, j := range q.Queued {
			ids = append(ids, j.ID)
		}
		if q.Next == "" {
			break
		}
		after = "&after=" + q.Next
	}
	var whole wire.Queue
	s.Do(http.MethodGet, "/queue", "").Into(&whole)
	if len(whole.Queued) != 301 || len(ids) != 301 || pages != 4 {
		t.Errorf("%d jobs in %d pages, %d at once", len(ids), pages+1, len(whole.Queued))
	}
	for i, j := range whole.Queued {
		if j.ID != ids[i] {
			t.Fatalf("place %d: %s on its page, %s in the whole", i, ids[i], j.ID)
		}
		if held := j.ID == "7"; held != j.Held || held != (j.Position == 0) {
			t.Errorf("job %s: held %t, position %d", j.ID, j.Held, j.Position)
		}
	}
	if array := whole.Queued[300]; array.Array == nil || array.Array.Queued != 5 {
		t.Errorf("the array is %+v", array)
	}
	s.Do(http.MethodGet, "/queue?user=user3", "").Into(&whole)
	if len(whole.Queued) != 30 {
		t.Errorf("%d jobs of one user", len(whole.Queued))
	}
	s.Do(http.MethodGet, "/queue?after=x", "").About("after")
	s.Do(http.MethodGet, "/queue?state=asleep", "").About("state")
	s.Do(http.MethodGet, "/queue?limit=-1", "").About("limit")
	s.Do(http.MethodGet, "/queue?frobnicate=1", "").About("frobnicate")
}

// undescribed reports whether a route is no operation of the description: those of agents, and what is not JSON or the description itself.
func undescribed(r auth.Rule) bool {
	return r.Least == model.RoleAgent || slices.Contains([]string{"/metrics", "/openapi.json", "/", "/ui", "/ui/{path:.*}"}, r.Path)
}

// The description is valid as far as we can tell, has an operation for each rule, says nothing of
// agents, and loads nothing from elsewhere.
func TestTheDescription(t *testing.T) {
	s := apitest.New(t)
	r := s.Do(http.MethodGet, "/openapi.json", "")
	var doc struct {
		OpenAPI    string
		Info       struct{ Title, Version string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(r.Body, &doc); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, rule := range auth.Rules() {
		if !undescribed(rule) {
			want = append(want, rule.Path+" "+rule.Method)
		}
	}
	ids := map[string]bool{}
	all, _ := apitest.Operations(s)
	for i := range all {
		o := &all[i]
		got = append(got, o.Path+" "+o.Method)
		if o.OperationID == "" || ids[o.OperationID] || o.Responses["default"] == nil || o.Responses["200"] == nil && o.Responses["101"] == nil {
			t.Errorf("%s %s is described as %+v", o.Method, o.Path, o)
		}
		ids[o.OperationID] = true
		if c := o.RequestBody.Content; len(c) > 1 || len(c) == 1 && c["application/json"].Schema.Ref == "" {
			t.Errorf("the body of %s %s is described as %v", o.Method, o.Path, c)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if doc.OpenAPI != "3.1.0" || doc.Info.Title != "Berth" || !slices.Equal(got, want) {
		t.Errorf("version %s, operations %q, rules of %q", doc.OpenAPI, got, want)
	}
	text := strings.ReplaceAll(string(r.Body), "https://hooks.example.org/", "") // of examples
	for _, ref := range strings.Split(text, `"$ref":"`)[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/schemas/"), `"`)
		if doc.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %q", name)
		}
	}
	for _, bad := range []string{"$schema", "http://", "https://", "/agent/", "ErrorModel", "octet-stream"} {
		if strings.Contains(text, bad) {
			t.Errorf("the description says %q", bad)
		}
	}
}

func TestMetrics(t *testing.T) {
	s := apitest.New(t)
	s.Submit(`{"command": "x"}`)
	s.Submit(`{"command": ""}`)
	text := string(s.Do(http.MethodGet, "/metrics", "").Body)
	index := func(of string) string { return fmt.Sprintf("berth_raft_%s_index %d", of, s.State().Index) }
	for _, line := range []string{
		"berth_raft_term 3", "berth_raft_is_leader 1", `berth_raft_role{role="leader"} 1`, index("applied"), index("commit"), "berth_raft_last_contact_seconds 0", "berth_sched_passes 4", `berth_jobs{state="queued"} 1`, `berth_gpus{state="free"} 0`,
		`gpu_orchestrator_http_requests_total{code="200",route="/queue/submit"} 1`, `gpu_orchestrator_http_requests_total{code="422",route="/queue/submit"} 1`,
		`gpu_orchestrator_http_request_duration_seconds_count{route="/queue/submit"} 2`, `berth_proposals_total{kind="submit",outcome="ok"} 1`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	s := apitest.New(t)
	s.Do(http.MethodGet, "/nowhere", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	r := s.Do(http.MethodPut, "/queue/statistics", "{}")
	if r.Problem(http.StatusMethodNotAllowed, wire.CodeMethod); !strings.Contains(r.Header.Get("Allow"), "GET") {
		t.Errorf("Allow is %q", r.Header.Get("Allow"))
	}
	r = s.Do(http.MethodPost, "/jobs/1", "")
	if r.Problem(http.StatusMethodNotAllowed, wire.CodeMethod); r.Header.Get("Allow") != "GET" {
		t.Errorf("Allow is %q", r.Header.Get("Allow"))
	}
}
