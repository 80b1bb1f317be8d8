package jobs_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// defaultsOf has an API go by these defaults of workloads.
func defaultsOf(t *testing.T, s *apitest.Site, text string) {
	t.Helper()
	d, err := workload.ReadDefaults([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s.API.TakeOver(core.Terms{Workloads: d})
}

// A type's default priority gives no caller more than it may ask for.
func TestDefaultPrioritiesAreTheCallers(t *testing.T) {
	s := apitest.NewGuarded(t)
	defaultsOf(t, s, "inference: {default_priority: 10}\nocr: {default_priority: 7}\n")
	for _, v := range []struct {
		token, kind string
		want        int64
	}{{apitest.Ann, "inference", 8}, {apitest.Ann, "ocr", 7}, {apitest.Operator, "inference", 10}} {
		var got wire.Allocated
		s.Do(http.MethodPost, "/gpu/allocate", `{"service_name": "web", "workload_type": "`+v.kind+`"}`, apitest.As(v.token)...).Into(&got)
		if got.Allocation.Priority != v.want {
			t.Errorf("%s: allocated with priority %d, want %d", v.kind, got.Allocation.Priority, v.want)
		}
		var plan wire.WorkloadPlan
		s.Do(http.MethodPost, "/gpu/workload", `{"service_name": "web", "workload_type": "`+v.kind+`"}`, apitest.As(v.token)...).Into(&plan)
		if said := fmt.Sprintf("Priority %d, ", v.want); plan.Priority != v.want || !strings.Contains(strings.Join(plan.Reasoning, " "), said) {
			t.Errorf("%s: priority %d, want %d: %q", v.kind, plan.Priority, v.want, plan.Reasoning)
		}
	}
}
