package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Every route has a rule, and every rule a route.
func TestEveryRouteHasARule(t *testing.T) {
	s := apitest.New(t)
	ruled := map[string]bool{}
	for _, r := range auth.Rules() {
		if ruled[r.Method+" "+r.Path] {
			t.Errorf("%s %s has two rules", r.Method, r.Path)
		}
		ruled[r.Method+" "+r.Path] = true
	}
	routed := map[string]bool{}
	err := s.API.Router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		if err != nil {
			return err
		}
		methods, err := route.GetMethods()
		for _, m := range methods {
			routed[m+" "+path] = true
			if !ruled[m+" "+path] {
				t.Errorf("%s %s has no rule: give it one in httpapi/auth/routes.go; it cannot be called until then", m, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for r := range ruled {
		if !routed[r] {
			t.Errorf("%s has a rule and no route", r)
		}
	}
}

// A route without a rule cannot be called.
func TestARouteWithoutARule(t *testing.T) {
	s := apitest.NewGuarded(t)
	h := s.API.Around(http.MethodGet, "/new", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	r := httptest.NewRequest(http.MethodGet, "/new", nil)
	r.Header.Set("Authorization", "Bearer "+apitest.Adam)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

// Role by role, over every route: a caller that may passes the gate, with any result; one that may
// not is refused and told which role it takes.
func TestRolesOverAllRoutes(t *testing.T) {
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" })
		tokens := c.State.Tokens.Fork() // an admin's token has spent the first
		tokens.Put(auth.HashOf(apitest.FirstToken), model.Token{Hash: auth.HashOf(apitest.FirstToken), First: true})
		c.State.Tokens = tokens.Table()
	})
	passes := func(r *apitest.Reply) bool {
		return r.Status != http.StatusUnauthorized && (r.Status != http.StatusForbidden || r.Header.Get(wire.HeaderCode) != "denied")
	}
	human := []string{"", apitest.Viewer, apitest.Ann, apitest.Operator, apitest.Adam}
	least := map[string]model.Role{
		"": 0, apitest.Viewer: model.RoleViewer, apitest.Ann: model.RoleUser, apitest.Operator: model.RoleOperator,
		apitest.Adam: model.RoleAdmin,
	}
	calls := 0
	for _, rule := range apitest.Routes(s) {
		for _, token := range append(human, apitest.Bob, apitest.AgentOf2, apitest.FirstToken, "berth_of_nobody") {
			var want bool
			switch token {
			case "", "berth_of_nobody":
				want = rule.Open()
			case apitest.AgentOf2:
				want = rule.Open() || rule.Least == model.RoleAgent || rule.Agents
			case apitest.FirstToken:
				want = rule.Open() || rule.First
			case apitest.Bob: // as ann, but it is not his job
				want = rule.Least <= model.RoleUser && !rule.Own
			default:
				want = least[token] >= rule.Least && (!rule.Sole || token == apitest.Ann)
			}
			var headers []string
			if token != "" {
				headers = apitest.As(token)
			}
			got := s.Do(rule.Method, rule.Filled, "", headers...)
			calls++
			if passes(got) != want {
				t.Errorf("%s %s with %q: %d %s, may is %t", rule.Method, rule.Path, token, got.Status, got.Body, want)
			}
			if got.Status == http.StatusUnauthorized && got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: a 401 that does not say how", rule.Method, rule.Path)
			}
			if needs := rule.Least.String(); !want && got.Status == http.StatusForbidden && token == apitest.Viewer &&
				!strings.Contains(string(got.Body), needs) {
				t.Errorf("%s %s: %s does not name the role %s", rule.Method, rule.Path, got.Body, needs)
			}
		}
	}
	t.Logf("%d calls", calls)
}

func TestWaysToShowAToken(t *testing.T) {
	s := apitest.NewGuarded(t)
	for _, headers := range [][]string{
		{"X-Auth-Token", apitest.Ann}, {"X-API-Key", apitest.Ann}, {"Authorization", "Bearer " + apitest.Ann}, {"Authorization", "bearer  " + apitest.Ann},
	} {
		var who wire.Whoami
		s.Do(http.MethodGet, "/whoami", "", headers...).Into(&who)
		if who.Name != "ann" || who.Role != "user" || who.Actor != "user:ann" || !who.Authentication || !slices.Equal(who.Projects, []string{"vision"}) {
			t.Errorf("%v: %+v", headers, who)
		}
	}
	for _, headers := range [][]string{
		{"Authorization", "Basic " + apitest.Ann},
		{"Authorization", apitest.Ann},
		{"X-Auth-Token", ""},
		{"X-Auth-Token", apitest.Ann + "x"},
		{"X-Auth-Token", strings.Repeat("x", 20_000)},
		{"X-Auth-Token", "ü\u202e🦄"},
		{"Cookie", "token=" + apitest.Ann},
	} {
		s.Do(http.MethodGet, "/queue", "", headers...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
}

// A token is refused from its end on, without anybody removing it; a revoked one and
// those of a removed user at once.
func TestTokensEnd(t *testing.T) {
	s := apitest.NewGuarded(t)
	var made wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"user":"ann","expires_in":"1h","name":"laptop"}`, apitest.As(apitest.Adam)...).Into(&made)
	if !strings.HasPrefix(made.Secret, "berth_") || len(made.Secret) != 6+43 || made.User != "ann" || made.Role != "user" {
		t.Fatalf("made %+v", made)
	}
	s.Do(http.MethodGet, "/queue", "", apitest.As(made.Secret)...).Into(new(wire.Queue))
	s.With(func(c *statetest.Cluster) { c.Now = c.Now.Add(time.Hour); c.Do(&command.AdvanceClock{}) })
	s.Do(http.MethodGet, "/queue", "", apitest.As(made.Secret)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	var all wire.Tokens
	s.Do(http.MethodGet, "/tokens", "", apitest.As(apitest.Adam)...).Into(&all)
	i := slices.IndexFunc(all.Tokens, func(v wire.Token) bool { return v.ID == made.ID })
	if i < 0 || !all.Tokens[i].Expired || all.Tokens[i].Name != "laptop" || all.Tokens[i].CreatedBy != "user:adam" {
		t.Errorf("the tokens are %+v", all.Tokens)
	}
	s.Do(http.MethodDelete, "/tokens/"+auth.ID(auth.HashOf(apitest.Ann)), "", apitest.As(apitest.Adam)...).Into(new(wire.Gone))
	s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Ann)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodDelete, "/users/bob", "", apitest.As(apitest.Adam)...).Into(new(wire.Gone))
	s.Do(http.MethodGet, "/queue", "", apitest.As(apitest.Bob)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodDelete, "/tokens/00", "", apitest.As(apitest.Adam)...).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodPut, "/users/otto", `{"role":"viewer"}`, apitest.As(apitest.Adam)...).Into(new(wire.User))
	s.Do(http.MethodPost, "/orchestrator/stop", "", apitest.As(apitest.Operator)...).Problem(http.StatusForbidden, "denied")
}

// The first token makes one other of an admin, and is good for nothing else and no more.
func TestTheFirstToken(t *testing.T) {
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) { // as in a new cluster
		*c = *statetest.New(t)
		c.Do(&command.FoundAuth{Token: auth.HashOf(apitest.FirstToken)})
	})
	s.Do(http.MethodPost, "/tokens", `{"user":"eve","role":"user"}`, apitest.As(apitest.FirstToken)...).About("role")
	key := append(apitest.As(apitest.FirstToken), "Idempotency-Key", "k1")
	var made wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"user":"root","role":"admin"}`, key...).Into(&made)
	s.Do(http.MethodGet, "/users", "", apitest.As(made.Secret)...).Into(new(wire.Users))
	s.Do(http.MethodPost, "/tokens", `{"user":"root2","role":"admin"}`, apitest.As(apitest.FirstToken)...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	again := append(apitest.As(made.Secret), "Idempotency-Key", "k2")
	s.Do(http.MethodPost, "/tokens", `{"user":"root"}`, again...).Into(&made)
	p := s.Do(http.MethodPost, "/tokens", `{"user":"root"}`, again...).Problem(http.StatusConflict, "idempotency_conflict")
	if !strings.Contains(p.Detail, "cannot be shown again") {
		t.Error(p.Detail)
	}
}

// Nothing is asked of a state that has not begun: what it would say by default is not
// what the founders are configured with. It is tried again.
func TestNothingComesBeforeTheFounding(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { *c = *statetest.Empty(t) })
	asked := 0
	h := s.API.Confirm(http.MethodPost, "/queue/submit", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/queue/submit", nil))
		return w
	}
	if w := ask(); w.Code != http.StatusServiceUnavailable || w.Header().Get(wire.HeaderCode) != wire.CodeNoLeader || asked != 0 {
		t.Errorf("status %d, %v, %d came through", w.Code, w.Header(), asked)
	}
	s.With(func(c *statetest.Cluster) { *c = *statetest.New(t) })
	if w := ask(); w.Code != http.StatusOK || asked != 1 {
		t.Errorf("status %d, %d came through", w.Code, asked)
	}
}

// A user asks for themselves only, in their projects, and for no critical job.
func TestWhatUsersMayAskFor(t *testing.T) {
	s := apitest.NewGuarded(t)
	denied := func(token, body string) {
		t.Helper()
		s.Do(http.MethodPost, "/queue/submit", body, apitest.As(token)...).Problem(http.StatusForbidden, "denied")
	}
	var job wire.Submitted
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","project":"vision"}`, apitest.As(apitest.Ann)...).Into(&job)
	if job.Job.User != "ann" {
		t.Errorf("the job is of %q", job.Job.User)
	}
	denied(apitest.Ann, `{"command":"true","user":"bob"}`)
	denied(apitest.Ann, `{"command":"true","project":"speech"}`)
	denied(apitest.Ann, `{"command":"true","priority":4}`)
	denied(apitest.Operator, `{"command":"true","user":"ann"}`)
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","priority":4,"project":"speech"}`, apitest.As(apitest.Operator)...).Into(&job)
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","user":"ann"}`, apitest.As(apitest.Adam)...).Into(&job)
	if job.Job.User != "ann" {
		t.Errorf("the job is of %q", job.Job.User)
	}
	s.With(func(c *statetest.Cluster) {
		c.Do(&command.SetDefaults{Defaults: model.Defaults{Class: model.ClassCritical}})
	})
	denied(apitest.Ann, `{"command":"true"}`)
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true","priority":2}`, apitest.As(apitest.Ann)...).Into(&job)
	s.Do(http.MethodPost, "/queue/submit", `{"command":"true"}`, apitest.As(apitest.Operator)...).Into(&job)
	if job.Job.Priority != 4 {
		t.Errorf("by default its priority is %d", job.Job.Priority)
	}
	s.Do(http.MethodPatch, "/queue/1/priority", `{"priority":3}`, apitest.As(apitest.Ann)...).Into(new(wire.Done))
	s.Do(http.MethodPatch, "/queue/1/priority", `{"priority":4}`, apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodDelete, "/queue/1", "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodDelete, "/queue/99", "", apitest.As(apitest.Bob)...).Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/jobs/1/logs", "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodDelete, "/queue/1", "", apitest.As(apitest.Operator)...).Into(new(wire.Done))
	var detail wire.Detail
	s.Do(http.MethodGet, "/jobs/1", "", apitest.As(apitest.Viewer)...).Into(&detail)
	line := detail.Timeline
	if line[0].Actor != "user:ann" || line[len(line)-1].Actor != "user:otto" {
		t.Errorf("the timeline is %+v", line)
	}
}

func TestWhatUsersMayReserve(t *testing.T) {
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 8) })
	body := func(what string) string { return `{"gpu_count":1,"start":"+1h","duration":"1h",` + what + `}` }
	s.Do(http.MethodPost, "/reservations", `{"maintenance":true,"nodes":["n1"],"duration":"1h"}`, apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, "denied")
	for _, who := range []string{`"user":"bob"`, `"project":"speech"`} {
		s.Do(http.MethodPost, "/reservations", body(who), apitest.As(apitest.Ann)...).Problem(http.StatusForbidden, "denied")
	}
	s.Do(http.MethodPost, "/reservations", body(`"reason":"mine"`), apitest.As(apitest.Ann)...).Into(new(wire.Reserved))
	s.Do(http.MethodDelete, "/reservations/1", "", apitest.As(apitest.Bob)...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodDelete, "/reservations/2", "", apitest.As(apitest.Bob)...).Problem(http.StatusNotFound, "not_found")
	s.Do(http.MethodDelete, "/reservations/1", "", apitest.As(apitest.Ann)...).Into(new(wire.Reserved))
}

// An agent's token speaks for its node.
func TestAgentsShowTheirToken(t *testing.T) {
	s := apitest.NewGuarded(t)
	for token, want := range map[string]bool{apitest.AgentOf2: true, apitest.AgentOf1: false} {
		got := s.Do(http.MethodPost, "/agent/desired", "\xa1\x01\x62n2", apitest.As(token)...)
		if (got.Status != http.StatusForbidden) != want {
			t.Errorf("%s for n2: %d %s", token, got.Status, got.Body)
		}
	}
}
