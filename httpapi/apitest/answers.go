package apitest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Object decodes an answer that must be an object.
func Object(t *testing.T, r *Reply) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, &out); err != nil || r.Status != http.StatusOK {
		t.Fatalf("%d %s: %v", r.Status, r.Body, err)
	}
	return out
}

// Within returns the object of a name in an object.
func Within(t *testing.T, o map[string]any, name string) map[string]any {
	t.Helper()
	v, is := o[name].(map[string]any)
	if !is {
		t.Fatalf("%s is no object in %v", name, o)
	}
	return v
}

// List returns a value that must be a list.
func List(t *testing.T, v any) []any {
	t.Helper()
	l, is := v.([]any)
	if !is {
		t.Fatalf("%v is no list", v)
	}
	return l
}

// Detail asks for what is known of a job.
func (s *Site) Detail(path string) *wire.Detail {
	s.T.Helper()
	out := &wire.Detail{}
	s.Do(http.MethodGet, path, "").Into(out)
	return out
}

// IDs lists the numbers of jobs.
func IDs(list []wire.Job) (out []string) {
	for i := range list {
		out = append(out, list[i].ID)
	}
	return out
}

// Spec submits and tells what came into the state.
func (s *Site) Spec(body string) model.Spec {
	s.T.Helper()
	var out wire.Submitted
	s.Submit(body).Into(&out)
	id, err := intake.JobID(out.JobID)
	if err != nil {
		s.T.Fatal(err)
	}
	st := s.State()
	job, found := st.Jobs.Get(id)
	if !found {
		s.T.Fatalf("there is no job %s", id)
	}
	return job.Spec
}
