package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/berth-gpu/berth/httpapi/admin"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The policy and what tunes it are told, changed together or not at all, and what
// is not allowed is named with what is.
func TestPolicies(t *testing.T) {
	s := apitest.New(t)
	var p wire.Policies
	s.Do(http.MethodGet, "/orchestrator/policies", "").Into(&p)
	if len(p.Policies) != 5 || len(p.Parameters) < 10 || p.Policies[0].Name != "fair_share" {
		t.Fatalf("the policies are %+v", p)
	}
	value := func(name string) string {
		s.Do(http.MethodGet, "/orchestrator/policies", "").Into(&p)
		for _, v := range p.Parameters {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}
	s.Do(http.MethodPut, "/orchestrator/policy", `{"policy": "sjf", "parameters": {"half_life": "48h", "depth": "3"}}`)
	if got := value("half_life"); got != "48h0m0s" || value("depth") != "3" || p.Policy != "sjf" {
		t.Errorf("half_life is %s, depth %s, the policy %s", got, value("depth"), p.Policy)
	}
	s.Do(http.MethodPut, "/orchestrator/policies", `{"policy": "fcfs", "parameters": {"half_life": "1s"}}`).About("parameters")
	s.Do(http.MethodPut, "/orchestrator/policies", `{"parameters": {"colour": "red"}}`).About("parameters")
	s.Do(http.MethodPut, "/orchestrator/policies", `{}`).About("policy")
	if value("half_life") != "48h0m0s" || p.Policy != "sjf" {
		t.Errorf("a refused change left %+v", p)
	}
}

// Of several concurrent changes of different values none is lost.
func TestPoliciesAreAdjustedAtATime(t *testing.T) {
	s := apitest.New(t)
	for n := 10; n < 30; n++ {
		v := strconv.Itoa(n)
		var all sync.WaitGroup
		for _, body := range []string{
			`{"parameters": {"depth": "` + v + `"}}`, `{"parameters": {"hysteresis": "1` + v + `"}}`, `{"parameters": {"share_weight": "` + v + `"}}`,
			`{"policy": "sjf", "max_concurrent_jobs": ` + v + `}`,
		} {
			all.Go(func() { s.Do(http.MethodPut, "/orchestrator/policy", body).Into(new(wire.Orchestrator)) })
		}
		all.Wait()
		var p wire.Policies
		s.Do(http.MethodGet, "/orchestrator/policies", "").Into(&p)
		if got := p.Config.Parameters; got["depth"] != v || got["hysteresis"] != "1"+v || got["share_weight"] != v || *p.MaxConcurrent != int64(n) {
			t.Fatalf("of %s it is %+v, %d jobs", v, got, *p.MaxConcurrent)
		}
	}
}

// A request id that is empty, or given twice, is refused: the request would be carried out again
// whenever it is sent again.
func TestAnEmptyIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for name, keys := range map[string][]string{"empty": {""}, "blank": {"  "}, "twice": {"a", "b"}} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/queue/submit", strings.NewReader(`{"command": "true", "gpu_count": 1}`))
		r.Host = "localhost"
		r.Header["Idempotency-Key"] = keys
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, r)
		if now := s.State(); w.Code != http.StatusBadRequest || now.Jobs.Len() != 0 {
			t.Errorf("%s: status %d, %d jobs: %s", name, w.Code, now.Jobs.Len(), w.Body)
		}
	}
}

// A change of order, limits and retries is one step of the log, carried out once under its key.
func TestAPolicyIsChangedInOneStep(t *testing.T) {
	const change = `{"policy": "sjf", "parameters": {"depth": "7"}, "max_concurrent_jobs": 9, "enable_auto_retry": true}`
	s := apitest.New(t)
	before := s.State().Index
	for range 2 {
		s.Do(http.MethodPut, "/orchestrator/policy", change, "Idempotency-Key", "key-1").Into(new(wire.Orchestrator))
		now := s.State()
		if set := now.Settings(); set.Policy != "sjf" || set.Tuning.Depth != 7 || set.Tuning.Retries != admin.AutoRetries {
			t.Errorf("the settings are %+v", set)
		}
		if now.Requests.Len() != 1 || now.Index-before < 1 {
			t.Errorf("%d requests are remembered after %d entries", now.Requests.Len(), now.Index-before)
		}
	}
}
