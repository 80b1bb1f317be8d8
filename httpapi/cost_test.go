package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
)

// TestCostsOfRequests holds what the most frequent requests allocate, from the request to the applied command and the answer. It is not
// parallel: other tests would count.
func TestCostsOfRequests(t *testing.T) {
	s := apitest.New(t)
	s.API.TakeOver(core.Terms{Rate: 1e9})
	const token = "berth_cost"
	s.With(func(c *statetest.Cluster) {
		c.Unchecked = true
		apitest.Guard(c)
		c.Do(&command.MakeToken{Hash: auth.HashOf(token), User: "username", Role: model.RoleUser})
		c.Node("n1", 8)
	})
	apitest.Fill(s, 1000)
	ask := func(method, path, by string, body []byte) {
		r := httptest.NewRequest(method, path, bytes.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+by)
		w := httptest.NewRecorder()
		if s.API.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	encoded := func(q any) []byte {
		body, err := agentwire.Encode(q)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	st := s.State()
	lease, _ := st.Leases.Get("n1")
	renew := agentwire.Renew{Node: "n1", Incarnation: st.Settings().Incarnation, Epoch: lease.Epoch}
	for _, c := range []struct {
		what string
		most statetest.Cost
		run  func()
	}{
		{"a submission", statetest.Cost{Allocations: 510, Bytes: 66_500}, func() {
			ask(http.MethodPost, "/queue/submit", token, []byte(apitest.BenchBody))
		}},
		{"a page of the queue", statetest.Cost{Allocations: 3030, Bytes: 560_000}, func() { ask(http.MethodGet, "/queue?limit=100", token, nil) }},
		{"a renewal of a lease", statetest.Cost{Allocations: 186, Bytes: 34_200}, func() {
			renew.Seq++
			ask(http.MethodPost, agentwire.PathRenew, apitest.AgentOf1, encoded(renew))
		}},
		{"a poll of an agent", statetest.Cost{Allocations: 114, Bytes: 12_900}, func() {
			ask(http.MethodPost, agentwire.PathDesired, apitest.AgentOf1, encoded(agentwire.Poll{Node: "n1"}))
		}},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "_"), func(t *testing.T) { statetest.CheckCost(t, c.what, c.most, 100, c.run) })
	}
}
