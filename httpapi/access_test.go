package httpapi

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
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Tokens of the guarded sites, by user and role.
const (
	viewer   = "berth_viewer_vera"
	ann      = "berth_user_ann"
	bob      = "berth_user_bob"
	operatr  = "berth_operator_otto"
	adam     = "berth_admin_adam"
	agent    = "berth_agent_of_n2"
	agentOf1 = "berth_agent_of_n1"
	first    = "berth_first"
	service  = "a-key-of-sixteen-bytes"
)

// guard turns authentication on, and adds those users.
func guard(c *statetest.Cluster) {
	c.Do(&command.FoundAuth{Token: auth.HashOf(first)})
	for _, v := range []struct {
		token, user string
		role        model.Role
	}{
		{viewer, "vera", model.RoleViewer},
		{ann, "ann", model.RoleUser},
		{bob, "bob", model.RoleUser},
		{operatr, "otto", model.RoleOperator},
		{adam, "adam", model.RoleAdmin},
		{agent, "n2", model.RoleAgent},
		{agentOf1, "n1", model.RoleAgent},
	} {
		b := &command.MakeToken{Hash: auth.HashOf(v.token), User: v.user, Role: v.role}
		if v.role == model.RoleAgent {
			b.Expires = c.Now.Add(1000 * time.Hour)
		}
		c.Do(b)
	}
	c.Do(&command.SetUser{User: "ann", Join: []string{"vision"}})
}

// newGuarded is a site with authentication.
func newGuarded(t testing.TB) *site {
	s := newSite(t)
	s.with(guard)
	return s
}

// as returns the headers of a caller with a token.
func as(token string) []string { return []string{"Authorization", "Bearer " + token} }

// Every route has a rule, and every rule a route.
func TestEveryRouteHasARule(t *testing.T) {
	s := newSite(t)
	ruled := map[string]bool{}
	for _, r := range auth.Rules() {
		if ruled[r.Method+" "+r.Path] {
			t.Errorf("%s %s has two rules", r.Method, r.Path)
		}
		ruled[r.Method+" "+r.Path] = true
	}
	routed := map[string]bool{}
	err := s.api.Router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
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
	s := newGuarded(t)
	h := s.api.Around(http.MethodGet, "/new", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	r := httptest.NewRequest(http.MethodGet, "/new", nil)
	r.Header.Set("Authorization", "Bearer "+adam)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

// filled is a rule's path with something in the place of each name.
func filled(path string) string {
	return strings.NewReplacer("{job_id}", "1", "{node_id}", "n1", "{uuid}", "GPU-1", "{scope}", "user", "{name}", "ann",
		"{reservation_id}", "1", "{token_id}", "0", "{user}", "ann", "{webhook_id}", "wh_1", "{path:.*}", "jobs/1",
		"/events", "/events?once=true").Replace(path)
}

// Role by role, over every route: a caller that may passes the gate, with any result; one that may
// not is refused and told which role it takes.
func TestRolesOverAllRoutes(t *testing.T) {
	s := newGuarded(t)
	s.with(func(c *statetest.Cluster) {
		c.Submit(1, func(b *command.Submit) { b.Spec.User = "ann" })
		tokens := c.State.Tokens.Fork() // an admin's token has spent the first
		tokens.Put(auth.HashOf(first), model.Token{Hash: auth.HashOf(first), First: true})
		c.State.Tokens = tokens.Table()
	})
	passes := func(r *reply) bool {
		return r.status != http.StatusUnauthorized && (r.status != http.StatusForbidden || r.header.Get(wire.HeaderCode) != "denied")
	}
	human := []string{"", viewer, ann, operatr, adam}
	least := map[string]model.Role{"": 0, viewer: model.RoleViewer, ann: model.RoleUser, operatr: model.RoleOperator, adam: model.RoleAdmin}
	calls := 0
	for _, rule := range auth.Rules() {
		for _, token := range append(human, bob, agent, first, "berth_of_nobody") {
			var want bool
			switch token {
			case "", "berth_of_nobody":
				want = rule.Open()
			case agent:
				want = rule.Open() || rule.Least == model.RoleAgent || rule.Path == "/whoami" || rule.Path == "/cluster/probe"
			case first:
				want = rule.Open() || rule.Path == "/whoami" || rule.Method+rule.Path == "POST/tokens"
			case bob: // as ann, but it is not his job
				want = rule.Least <= model.RoleUser && !rule.Own
			default:
				want = least[token] >= rule.Least && (!rule.Sole || token == ann)
			}
			var headers []string
			if token != "" {
				headers = as(token)
			}
			got := s.do(rule.Method, filled(rule.Path), "", headers...)
			calls++
			if passes(got) != want {
				t.Errorf("%s %s with %q: %d %s, may is %t", rule.Method, rule.Path, token, got.status, got.body, want)
			}
			if got.status == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: a 401 that does not say how", rule.Method, rule.Path)
			}
			if needs := rule.Least.String(); !want && got.status == http.StatusForbidden && token == viewer &&
				!strings.Contains(string(got.body), needs) {
				t.Errorf("%s %s: %s does not name the role %s", rule.Method, rule.Path, got.body, needs)
			}
		}
	}
	t.Logf("%d calls", calls)
}

func TestWaysToShowAToken(t *testing.T) {
	s := newGuarded(t)
	for _, headers := range [][]string{
		{"X-Auth-Token", ann}, {"X-API-Key", ann}, {"Authorization", "Bearer " + ann}, {"Authorization", "bearer  " + ann},
	} {
		var who wire.Whoami
		s.do(http.MethodGet, "/whoami", "", headers...).into(&who)
		if who.Name != "ann" || who.Role != "user" || who.Actor != "user:ann" || !who.Authentication || !slices.Equal(who.Projects, []string{"vision"}) {
			t.Errorf("%v: %+v", headers, who)
		}
	}
	for _, headers := range [][]string{
		{"Authorization", "Basic " + ann},
		{"Authorization", ann},
		{"X-Auth-Token", ""},
		{"X-Auth-Token", ann + "x"},
		{"X-Auth-Token", strings.Repeat("x", 20_000)},
		{"X-Auth-Token", "ü\u202e🦄"},
		{"Cookie", "token=" + ann},
	} {
		s.do(http.MethodGet, "/queue", "", headers...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	}
}

// A token is refused from its end on, without anybody removing it; a revoked one and
// those of a removed user at once.
func TestTokensEnd(t *testing.T) {
	s := newGuarded(t)
	var made wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"user":"ann","expires_in":"1h","name":"laptop"}`, as(adam)...).into(&made)
	if !strings.HasPrefix(made.Secret, "berth_") || len(made.Secret) != 6+43 || made.User != "ann" || made.Role != "user" {
		t.Fatalf("made %+v", made)
	}
	s.do(http.MethodGet, "/queue", "", as(made.Secret)...).into(new(wire.Queue))
	s.with(func(c *statetest.Cluster) { c.Now = c.Now.Add(time.Hour); c.Do(&command.AdvanceClock{}) })
	s.do(http.MethodGet, "/queue", "", as(made.Secret)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	var all wire.Tokens
	s.do(http.MethodGet, "/tokens", "", as(adam)...).into(&all)
	i := slices.IndexFunc(all.Tokens, func(v wire.Token) bool { return v.ID == made.ID })
	if i < 0 || !all.Tokens[i].Expired || all.Tokens[i].Name != "laptop" || all.Tokens[i].CreatedBy != "user:adam" {
		t.Errorf("the tokens are %+v", all.Tokens)
	}
	s.do(http.MethodDelete, "/tokens/"+auth.ID(auth.HashOf(ann)), "", as(adam)...).into(new(wire.Gone))
	s.do(http.MethodGet, "/queue", "", as(ann)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodDelete, "/users/bob", "", as(adam)...).into(new(wire.Gone))
	s.do(http.MethodGet, "/queue", "", as(bob)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodDelete, "/tokens/00", "", as(adam)...).problem(http.StatusNotFound, wire.CodeNotFound)
	s.do(http.MethodPut, "/users/otto", `{"role":"viewer"}`, as(adam)...).into(new(wire.User))
	s.do(http.MethodPost, "/orchestrator/stop", "", as(operatr)...).problem(http.StatusForbidden, "denied")
}

// The first token makes one other of an admin, and is good for nothing else and no more.
func TestTheFirstToken(t *testing.T) {
	s := newGuarded(t)
	s.with(func(c *statetest.Cluster) { // as in a new cluster
		*c = *statetest.New(t)
		c.Do(&command.FoundAuth{Token: auth.HashOf(first)})
	})
	s.do(http.MethodPost, "/tokens", `{"user":"eve","role":"user"}`, as(first)...).about("role")
	key := append(as(first), "Idempotency-Key", "k1")
	var made wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"user":"root","role":"admin"}`, key...).into(&made)
	s.do(http.MethodGet, "/users", "", as(made.Secret)...).into(new(wire.Users))
	s.do(http.MethodPost, "/tokens", `{"user":"root2","role":"admin"}`, as(first)...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	again := append(as(made.Secret), "Idempotency-Key", "k2")
	s.do(http.MethodPost, "/tokens", `{"user":"root"}`, again...).into(&made)
	p := s.do(http.MethodPost, "/tokens", `{"user":"root"}`, again...).problem(http.StatusConflict, "idempotency_conflict")
	if !strings.Contains(p.Detail, "cannot be shown again") {
		t.Error(p.Detail)
	}
}

// Nothing is asked of a state that has not begun: what it would say by default is not
// what the founders are configured with. It is tried again.
func TestNothingComesBeforeTheFounding(t *testing.T) {
	s := newSite(t)
	s.with(func(c *statetest.Cluster) { *c = *statetest.Empty(t) })
	asked := 0
	h := s.api.Gate.Confirm(http.MethodPost, "/queue/submit", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/queue/submit", nil))
		return w
	}
	if w := ask(); w.Code != http.StatusServiceUnavailable || w.Header().Get(wire.HeaderCode) != wire.CodeNoLeader || asked != 0 {
		t.Errorf("status %d, %v, %d came through", w.Code, w.Header(), asked)
	}
	s.with(func(c *statetest.Cluster) { *c = *statetest.New(t) })
	if w := ask(); w.Code != http.StatusOK || asked != 1 {
		t.Errorf("status %d, %d came through", w.Code, asked)
	}
}

// A user asks for themselves only, in their projects, and for no critical job.
func TestWhatUsersMayAskFor(t *testing.T) {
	s := newGuarded(t)
	denied := func(token, body string) {
		t.Helper()
		s.do(http.MethodPost, "/queue/submit", body, as(token)...).problem(http.StatusForbidden, "denied")
	}
	var job wire.Submitted
	s.do(http.MethodPost, "/queue/submit", `{"command":"true","project":"vision"}`, as(ann)...).into(&job)
	if job.Job.User != "ann" {
		t.Errorf("the job is of %q", job.Job.User)
	}
	denied(ann, `{"command":"true","user":"bob"}`)
	denied(ann, `{"command":"true","project":"speech"}`)
	denied(ann, `{"command":"true","priority":4}`)
	denied(operatr, `{"command":"true","user":"ann"}`)
	s.do(http.MethodPost, "/queue/submit", `{"command":"true","priority":4,"project":"speech"}`, as(operatr)...).into(&job)
	s.do(http.MethodPost, "/queue/submit", `{"command":"true","user":"ann"}`, as(adam)...).into(&job)
	if job.Job.User != "ann" {
		t.Errorf("the job is of %q", job.Job.User)
	}
	s.with(func(c *statetest.Cluster) {
		c.Do(&command.SetDefaults{Defaults: model.Defaults{Class: model.ClassCritical}})
	})
	denied(ann, `{"command":"true"}`)
	s.do(http.MethodPost, "/queue/submit", `{"command":"true","priority":2}`, as(ann)...).into(&job)
	s.do(http.MethodPost, "/queue/submit", `{"command":"true"}`, as(operatr)...).into(&job)
	if job.Job.Priority != 4 {
		t.Errorf("by default its priority is %d", job.Job.Priority)
	}
	s.do(http.MethodPatch, "/queue/1/priority", `{"priority":3}`, as(ann)...).into(new(wire.Done))
	s.do(http.MethodPatch, "/queue/1/priority", `{"priority":4}`, as(ann)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodDelete, "/queue/1", "", as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodDelete, "/queue/99", "", as(bob)...).problem(http.StatusNotFound, wire.CodeNotFound)
	s.do(http.MethodGet, "/jobs/1/logs", "", as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodDelete, "/queue/1", "", as(operatr)...).into(new(wire.Done))
	var detail wire.Detail
	s.do(http.MethodGet, "/jobs/1", "", as(viewer)...).into(&detail)
	line := detail.Timeline
	if line[0].Actor != "user:ann" || line[len(line)-1].Actor != "user:otto" {
		t.Errorf("the timeline is %+v", line)
	}
}

func TestWhatUsersMayReserve(t *testing.T) {
	s := newGuarded(t)
	s.with(func(c *statetest.Cluster) { c.Node("n1", 8) })
	body := func(what string) string { return `{"gpu_count":1,"start":"+1h","duration":"1h",` + what + `}` }
	s.do(http.MethodPost, "/reservations", `{"maintenance":true,"nodes":["n1"],"duration":"1h"}`, as(ann)...).problem(http.StatusForbidden, "denied")
	for _, who := range []string{`"user":"bob"`, `"project":"speech"`} {
		s.do(http.MethodPost, "/reservations", body(who), as(ann)...).problem(http.StatusForbidden, "denied")
	}
	s.do(http.MethodPost, "/reservations", body(`"reason":"mine"`), as(ann)...).into(new(wire.Reserved))
	s.do(http.MethodDelete, "/reservations/1", "", as(bob)...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodDelete, "/reservations/2", "", as(bob)...).problem(http.StatusNotFound, "not_found")
	s.do(http.MethodDelete, "/reservations/1", "", as(ann)...).into(new(wire.Reserved))
}

// A token that was just made through a follower may be used there.
func TestATokenIsKnownAtOnce(t *testing.T) {
	s := newGuarded(t)
	s.api.Gate.Peer = &behind{s.one, s.State()}
	var made wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"user":"ann"}`, as(adam)...).into(&made)
	s.do(http.MethodGet, "/queue", "", as(made.Secret)...).into(new(wire.Queue))
}

// An agent's token speaks for its node.
func TestAgentsShowTheirToken(t *testing.T) {
	s := newGuarded(t)
	for token, want := range map[string]bool{agent: true, agentOf1: false} {
		got := s.do(http.MethodPost, "/agent/desired", "\xa1\x01\x62n2", as(token)...)
		if (got.status != http.StatusForbidden) != want {
			t.Errorf("%s for n2: %d %s", token, got.status, got.body)
		}
	}
}

// The peer that leads begins to ask, once, and tells the first token.
func TestFoundAccess(t *testing.T) {
	s := newSite(t)
	s.api.Gate.Must = true
	s.do(http.MethodGet, "/queue", "").problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	var told []string
	for range 2 {
		core.FoundAccess(t.Context(), s.api, func(token string) { told = append(told, token) })
	}
	if len(told) != 1 || !s.State().Tokens.Has(auth.HashOf(told[0])) {
		t.Fatalf("told %q", told)
	}
	var who wire.Whoami
	s.do(http.MethodGet, "/whoami", "", as(told[0])...).into(&who)
	if who.Kind != "first" {
		t.Errorf("it is %+v", who)
	}
}
