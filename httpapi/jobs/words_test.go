package jobs_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What is refused is named as the caller wrote it, and said in words that lead on.
func TestWhatIsRefusedIsNamed(t *testing.T) {
	s := apitest.New(t)
	for _, v := range []struct{ method, path, body, field, says string }{
		{http.MethodPost, "/queue/submit", `{"command":"x","array_limit":2}`, "array_limit", "needs an array"},
		{http.MethodPost, "/queue/submit", `{"command":"x","gpu_count":16,"nodes":3}`, "gpu_count", "multiple of nodes (3)"},
		{http.MethodPost, "/queue/submit", `{"command":"x","begin":"+400d"}`, "begin", "at most 366 days"},
		{http.MethodPut, "/orchestrator/policy", `{"parameters":{"depth":[5]}}`, "parameters", "depth must be"},
		{http.MethodPut, "/orchestrator/policy", `{"parameters":{"aging":"1s"}}`, "parameters", "1m to 366d"},
		{http.MethodPut, "/orchestrator/policy", `{"max_concurrent_jobs":-1}`, "max_concurrent_jobs", "0 to"},
		{http.MethodPut, "/quotas/user/ann", `{"max_concurrent_jobs":1}`, "max_concurrent_jobs", "use running"},
		{http.MethodPut, "/quotas/user/ann", `{"max_run_time":"-5m"}`, "max_run_time", "not be negative"},
	} {
		r := s.Do(v.method, v.path, v.body)
		if r.About(v.field); !strings.Contains(string(r.Body), v.says) {
			t.Errorf("%s: %s does not say %q", v.body, r.Body, v.says)
		}
	}
	s.Do(http.MethodPut, "/orchestrator/policy", `{"parameters":{"depth":5,"gpu_time":true,"aging":"1d"}}`).Into(new(wire.Orchestrator))
	now := s.State()
	if set := now.Settings().Tuning; set.Depth != 5 || !set.GPUTime || set.Aging.Hours() != 24 {
		t.Errorf("it is tuned by %+v", set)
	}
}
