package watch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// server answers as a cluster with the jobs and nodes of the tests, and notes changes.
type server struct {
	*httptest.Server

	t       *testing.T
	changes []string
}

// serve starts the server, and makes it the cluster of programs.
func serve(t *testing.T) *server {
	t.Helper()
	s := &server{t: t}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /queue": s.queue, "GET /history": s.history, "GET /jobs/{id}/tasks": s.tasks, "GET /jobs/{id}": s.job, "GET /nodes": s.nodes, "GET /cluster/peers": s.peers,
		"GET /whoami": s.whoami, "GET /shares": s.shares,
	} {
		mux.HandleFunc(pattern, handle)
	}
	for _, pattern := range []string{
		"DELETE /queue/{id}", "POST /queue/{id}/hold", "POST /queue/{id}/release", "POST /queue/{id}/requeue", "POST /queue/{id}/extend",
		"PATCH /queue/{id}/priority", "DELETE /queue/{id}/dependencies", "PUT /nodes/{id}/mode",
	} {
		mux.HandleFunc(pattern, s.change)
	}
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	t.Setenv("BERTH_ADDRESS", strings.TrimPrefix(s.URL, "http://"))
	t.Setenv("BERTH_TOKEN", "token")
	for _, name := range []string{"SQUEUE_FORMAT", "SACCT_FORMAT", "SINFO_FORMAT", "SLURM_JOB_NODELIST", "SLURM_NODELIST"} {
		t.Setenv(name, "")
	}
	return s
}

func (s *server) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

func (s *server) refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", wire.ProblemType)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"title":"x","status":%d,"code":%q,"detail":"refused"}`, status, code)
}

// pick returns jobs by their ids.
func pick(ids ...string) (list []wire.Job) {
	for _, id := range ids {
		list = append(list, jobs()[id])
	}
	return list
}

// queue answers in two pages. Job 1 waits in the second, and runs already when what runs is asked for.
func (s *server) queue(w http.ResponseWriter, r *http.Request) {
	q := &wire.Queue{}
	switch state, user := r.URL.Query().Get("state"), r.URL.Query().Get("user"); {
	case user != "" && user != "root":
	case state == "queued" && r.URL.Query().Get("after") == "":
		q.Queued, q.Next = pick("4"), "1"
	case state == "queued":
		q.Queued = pick("3", "1")
	case strings.HasPrefix(state, "completed"):
		q.Ended = pick("10", "9", "8", "7", "6", "5")
	default:
		q.Running = pick("1", "2", "11")
	}
	s.answer(w, q)
}

func (s *server) history(w http.ResponseWriter, r *http.Request) {
	h := &wire.History{}
	ids := []string{"10", "9", "8"}
	if h.Next = "x"; r.URL.Query().Get("before") != "" {
		h.Next, ids = "", []string{"7", "6", "5"}
	}
	for _, j := range pick(ids...) {
		h.Jobs = append(h.Jobs, wire.EndedJob{Job: j})
	}
	s.answer(w, h)
}

func (s *server) tasks(w http.ResponseWriter, r *http.Request) {
	list := &wire.Tasks{JobID: "2"}
	for _, v := range tasks() {
		if states := r.URL.Query().Get("state"); states == "" || strings.Contains(states, v.State) {
			list.Tasks = append(list.Tasks, v)
		}
	}
	s.answer(w, list)
}

func (s *server) job(w http.ResponseWriter, r *http.Request) {
	j, found := jobs()[r.PathValue("id")]
	task := r.URL.Query().Get("task")
	if !found || task != "" && task != "1" {
		s.refuse(w, http.StatusNotFound, wire.CodeNotFound)
		return
	}
	d := &wire.Detail{Job: j, OnLost: "requeue", WorkDir: "/data/run"}
	if task == "1" {
		d.State, d.Last, d.StartedAt, d.RunSeconds, d.Attempts = "running", nil, at(50), 600, 1
		d.AllocatedGPUs = []wire.GPURef{{NodeID: "gpu3"}}
	}
	s.answer(w, d)
}

// whoami answers that the caller is root, whose account every machine has.
func (s *server) whoami(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, &wire.Whoami{Authentication: true, Name: "root", Kind: "user", Role: "user", Projects: []string{"new", "speech", "vision"}})
}

func (s *server) shares(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, &wire.Shares{Shares: []wire.Share{
		{Shares: 100, GPUHours: 1},
		{User: "root", Shares: 100, GPUHours: 1},
		{Project: "speech", Shares: 300, GPUHours: 1},
		{Project: "speech", User: "root", Shares: 100, GPUHours: 1},
		{Project: "vision", Shares: 100, GPUHours: 3},
		{Project: "vision", User: "ann", Shares: 100, GPUHours: 2},
		{Project: "vision", User: "root", Shares: 400, GPUHours: 1},
	}})
}

func (s *server) nodes(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, &wire.Nodes{Nodes: nodes()})
}

func (s *server) peers(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, &wire.Peers{Leader: "p2", Peers: []wire.Peer{
		{Name: "p1", Self: true, Address: "h1:1"}, {Name: "p2", Reachable: true, Address: "h2:1"}, {Name: "p3", Address: "h3:1"},
	}})
}

// change notes a request. Job 5 has ended.
func (s *server) change(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	line := r.Method + " " + r.URL.Path
	for _, part := range []string{r.URL.Query().Encode(), strings.TrimSpace(string(body))} {
		if part != "" {
			line += " " + part
		}
	}
	s.changes = append(s.changes, line)
	id := r.PathValue("id")
	switch _, found := jobs()[id]; {
	case !found && !strings.HasPrefix(id, "gpu"):
		s.refuse(w, http.StatusNotFound, wire.CodeNotFound)
	case id == "5":
		s.refuse(w, http.StatusConflict, "already_ended")
	default:
		s.answer(w, &wire.Done{Success: true})
	}
}
