package advice

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// answering is the way to a service that always answers so.
type answering struct {
	status int
	body   []byte
}

// RoundTrip answers.
func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// FuzzAdviser: whatever an adviser answers, the plan stays within the cluster and within a
// factor of four of what it was, and what earlier runs have shown stands.
func FuzzAdviser(f *testing.F) {
	for i, body := range []string{
		`{"gpu_count": 4, "memory_mb": 60000, "priority": 9, "estimated_duration_seconds": 5}`, `{"gpu_count": 1e300, "memory_mb": 1e-9}`,
		`{"gpu_count": -1, "priority": 0.99, "estimated_duration_seconds": 9223372036854775807}`, `[1]`, `{"gpu_count": "many"}`, `{}`, `{`, "", `{"a":1}{}`,
		`{"GPU_count": 2, "gpu_count": 3, "gpu_count": null}`, "\ufeff{}", `{"memory_mb": 1.5, "priority": 1e999}`,
	} {
		f.Add(uint(i), []byte(body))
	}
	requests := []wire.Workload{
		{Type: workload.Training, Data: map[string]any{"model_size": "medium"}},
		{Type: workload.Inference, ServiceName: "s", Data: map[string]any{"model_size": "13B", "tokens": 1e9}},
		{Type: workload.OCR},
		{Type: workload.Graph, Data: map[string]any{"nodes": 1e7, "edges": 1e8}},
	}
	knows := func(past bool) *workload.Knowledge {
		k := &workload.Knowledge{
			Defaults: workload.StandardDefaults(),
			Fleet:    []workload.Kind{{Model: "H100", MemoryMB: 81559, All: 16, Node: 8}, {Model: "T4", MemoryMB: 15360, All: 4, Node: 4}},
		}
		if past {
			k.Past = []workload.Runs{{GPUs: 2, Count: 5, Typical: time.Hour, PeakMB: 10000, Peaks: 4}}
		}
		return k
	}
	f.Fuzz(func(t *testing.T, which uint, body []byte) {
		asked := New([]Adviser{{"adviser", "http://127.0.0.1:1"}})
		status := []int{200, 200, 200, 204, 302, 500}[which/8%6]
		asked[0].client.Transport = &answering{status, body}
		r := &requests[which%4]
		without, err := workload.Analyze(r, knows(which/4%2 == 1))
		if err != nil {
			t.Fatal(err)
		}
		k := knows(which/4%2 == 1)
		k.Advice = asked.Ask(t.Context(), r)
		if status != http.StatusOK && (k.Advice[0].Failure == "" || k.Advice[0].Body != nil) {
			t.Fatalf("an answer of %d is taken: %+v", status, k.Advice)
		}
		with, err := workload.Analyze(r, k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(with); err != nil {
			t.Fatal(err)
		}
		heard(t, with, without)
	})
}

// heard checks a plan with advice against the one without.
func heard(t *testing.T, with, without *wire.WorkloadPlan) {
	t.Helper()
	at := func(field string) string { return with.Sources[field] }
	within := func(v, of int64) bool { return v >= max(1, of/4) && v <= 4*of }
	advised := func(field string) bool { return at(field) == "adviser" }
	switch {
	case with.GPUs < 1 || with.GPUs > 16 || with.MemoryMB < 1 || with.MemoryMB > 81559 || with.Priority < 1 || with.Priority > 10:
		t.Fatalf("beyond the cluster: %+v", with)
	case with.Duration < 1 || with.Duration > workload.MaxDuration.Seconds():
		t.Fatalf("it takes %g s", with.Duration)
	case !within(with.GPUs, without.GPUs), advised("memory_mb") && !advised("gpu_count") && !within(with.MemoryMB, without.MemoryMB):
		t.Fatalf("%d GPUs with %d MB became %d with %d", without.GPUs, without.MemoryMB, with.GPUs, with.MemoryMB)
	case !slices.Contains([]string{"taken", "overruled", "useless", "failed"}, with.Advisers[0].Outcome):
		t.Fatalf("it came to %q", with.Advisers[0].Outcome)
	}
	taken := false
	for field, source := range without.Sources {
		if source == "history" && at(field) != "history" {
			t.Fatalf("%s is not known from earlier runs any more", field)
		}
		taken = taken || advised(field)
	}
	if taken != (with.Advisers[0].Outcome == "taken") {
		t.Fatalf("%+v with sources %v", with.Advisers, with.Sources)
	}
}
