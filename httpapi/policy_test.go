package httpapi

import (
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// The policy and what tunes it are told, changed together or not at all, and what
// is not allowed is named with what is.
func TestPolicies(t *testing.T) {
	s := newSite(t)
	var p wire.Policies
	s.do(http.MethodGet, "/orchestrator/policies", "").into(&p)
	if len(p.Policies) != 5 || len(p.Parameters) < 10 || p.Policies[0].Name != "fair_share" {
		t.Fatalf("the policies are %+v", p)
	}
	value := func(name string) string {
		s.do(http.MethodGet, "/orchestrator/policies", "").into(&p)
		for _, v := range p.Parameters {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}
	s.do(http.MethodPut, "/orchestrator/policy", `{"policy": "sjf", "parameters": {"half_life": "48h", "depth": "3"}}`)
	if got := value("half_life"); got != "48h0m0s" || value("depth") != "3" || p.Policy != "sjf" {
		t.Errorf("half_life is %s, depth %s, the policy %s", got, value("depth"), p.Policy)
	}
	s.do(http.MethodPut, "/orchestrator/policies", `{"policy": "fcfs", "parameters": {"half_life": "1s"}}`).about("parameters")
	s.do(http.MethodPut, "/orchestrator/policies", `{"parameters": {"colour": "red"}}`).about("parameters")
	s.do(http.MethodPut, "/orchestrator/policies", `{}`).about("policy")
	if value("half_life") != "48h0m0s" || p.Policy != "sjf" {
		t.Errorf("a refused change left %+v", p)
	}
}
