package auth

import (
	"net/http"
	"slices"
	"sync"

	"github.com/berth-gpu/berth/fsm/model"
)

// Rule is the requirement of a route on its callers. A route without a rule cannot be called.
type Rule struct {
	Method string
	Path   string     // as routes are written: "/jobs/{job_id}"
	Least  model.Role // RoleNone: open to all
	Own    bool       // callers below operator may call it for their own jobs only
	Sole   bool       // with Own: operators, too
	First  bool       // good for the first token, too
	Agents bool       // agents may call it in addition to users
}

// Open reports whether the route has no requirement.
func (r Rule) Open() bool { return r.Least == model.RoleNone }

// Allows reports whether the caller's role suffices for the route.
func (r Rule) Allows(c *Caller) bool {
	switch c.Kind {
	case Open:
		return true
	case Once:
		return r.First || r.Open()
	case Node:
		return r.Agents || r.Open() || r.Least == model.RoleAgent
	case Unidentified, User, Service, Local:
	}
	return r.Open() || c.Role.Covers(r.Least)
}

// NotFor returns why the caller's role does not suffice for the route; empty: it does.
func (r Rule) NotFor(c *Caller) string {
	switch {
	case r.Allows(c):
		return ""
	case c.Kind == Once:
		return "the first token can only create another: berth token create --user NAME --role admin"
	case r.Least == model.RoleAgent:
		return "this path is for agents and needs the certificate of a node"
	case c.Kind == Node:
		return "an agent may use paths of agents only: this path needs the role " + r.Least.String()
	}
	return "this needs the role " + r.Least.String() + "; you have " + c.Role.String()
}

// Bound reports whether the caller may call the route for the caller's own jobs only.
func (r Rule) Bound(c *Caller) bool {
	return r.Own && c.Kind != Open && (r.Sole || !c.Role.Covers(model.RoleOperator))
}

// NotOwn returns why a caller that is bound to own jobs may not call the route for a job of a user, submitted at an instant; empty: the
// caller may.
func (r Rule) NotOwn(c *Caller, user string, submitted model.Time) string {
	switch {
	case c.Owns(user, submitted):
		return ""
	case r.Sole:
		return "only " + user + " may do this, whatever the role of others"
	}
	return "this needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String()
}

// Find returns the rule of a route.
func Find(method, path string) (Rule, bool) {
	rule, known := byRoute()[route{method, path}]
	return rule, known
}

// route is what a rule is found by.
type route struct{ method, path string }

// byRoute returns the table as a map, which is made once: each request looks its rule up.
var byRoute = sync.OnceValue(func() map[route]Rule {
	out := map[route]Rule{}
	for _, r := range Rules() {
		out[route{r.Method, r.Path}] = r
	}
	return out
})

// smallBody bounds the body of a change that callers without a credential may ask for, in bytes: a peer keeps it until the
// leader has answered.
const smallBody = 16 << 10

// MaxBody returns the bound on the body of a change, in bytes: the usual one, or less on an open route.
func MaxBody(method, path string, usual int64) int64 {
	if rule, known := Find(method, path); known && rule.Open() {
		return min(smallBody, usual)
	}
	return usual
}

// Rules returns the table, by role.
func Rules() []Rule {
	return slices.Concat(openRules(), viewerRules(), userRules(), operatorRules(), adminRules(), agentRules())
}

func rules(method string, least model.Role, paths ...string) []Rule {
	out := make([]Rule, 0, len(paths))
	for _, path := range paths {
		out = append(out, Rule{Method: method, Path: path, Least: least})
	}
	return out
}

func openRules() []Rule {
	return append(rules(http.MethodGet, model.RoleNone, "/healthz", "/readyz", "/metrics", "/", "/ui", "/ui/{path:.*}", "/oidc"),
		Rule{Method: http.MethodPost, Path: "/cluster/join", Least: model.RoleNone},     // the join token is in the body
		Rule{Method: http.MethodPost, Path: "/cluster/standing", Least: model.RoleNone}, // the certificate, too
		Rule{Method: http.MethodPost, Path: "/session", Least: model.RoleNone},          // the token or code, too
		Rule{Method: http.MethodPost, Path: "/oidc/device", Least: model.RoleNone},
		Rule{Method: http.MethodPost, Path: "/oidc/token", Least: model.RoleNone}) // the provider's token or code
}

func viewerRules() []Rule {
	return append(rules(http.MethodGet, model.RoleViewer,
		"/openapi.json", "/queue", "/queue/statistics", "/queue/plan", "/jobs", "/jobs/{job_id}", "/jobs/{job_id}/explain", "/jobs/{job_id}/tasks",
		"/gpu/status", "/gpu/samples", "/cluster/history", "/submit/options", "/nodes", "/nodes/{node_id}", "/nodes/{node_id}/gpus/history", "/reservations", "/orchestrator/status", "/orchestrator/policies",
		"/orchestrator/allocation", "/quotas", "/shares", "/cluster/peers", "/cluster/settings", "/cluster/upgrade",
		"/cluster/gpu-status", "/cluster/state", "/gpu/list", "/gpu/allocations", "/gpu/allocations/{allocation_id}", "/runs/{run_id}",
		"/events", "/history", "/usage"),
		Rule{Method: http.MethodGet, Path: "/whoami", Least: model.RoleViewer, First: true, Agents: true},
		// Callers below admin list, make and revoke their own only: the handler checks that.
		Rule{Method: http.MethodGet, Path: "/tokens", Least: model.RoleViewer},
		Rule{Method: http.MethodPost, Path: "/tokens", Least: model.RoleViewer, First: true},
		Rule{Method: http.MethodDelete, Path: "/tokens/{token_id}", Least: model.RoleViewer},
		Rule{Method: http.MethodPost, Path: "/session/codes", Least: model.RoleViewer},
		Rule{Method: http.MethodDelete, Path: "/session", Least: model.RoleViewer})
}

func userRules() []Rule {
	own := slices.Concat(
		rules(http.MethodGet, model.RoleUser, "/jobs/{job_id}/logs", "/jobs/{job_id}/spec"),
		[]Rule{{Method: http.MethodGet, Path: "/jobs/{job_id}/steps", Least: model.RoleUser, Sole: true}},
		rules(http.MethodDelete, model.RoleUser, "/queue/{job_id}", "/queue/{job_id}/dependencies", "/jobs/{job_id}/spec"),
		rules(http.MethodPatch, model.RoleUser, "/queue/{job_id}/priority"),
		rules(http.MethodPost, model.RoleUser, "/queue/{job_id}/hold", "/queue/{job_id}/release", "/queue/{job_id}/requeue",
			"/queue/{job_id}/extend", "/jobs/{job_id}/attach"))
	for i := range own {
		own[i].Own = true
	}
	return slices.Concat(own,
		rules(http.MethodPost, model.RoleUser, "/queue/submit", "/queue/bulk", "/reservations", "/gpu/workload", "/gpu/allocate", "/gpu/release",
			"/gpu/allocations/{allocation_id}/renew", "/cluster/gpu-allocate", "/cluster/gpu-release"),
		rules(http.MethodDelete, model.RoleUser, "/reservations/{reservation_id}", "/webhooks/{webhook_id}"),
		rules(http.MethodPost, model.RoleUser, "/webhooks", "/webhooks/{webhook_id}/test"),
		rules(http.MethodPut, model.RoleUser, "/webhooks/{webhook_id}"),
		rules(http.MethodGet, model.RoleUser, "/webhooks", "/webhooks/{webhook_id}/deliveries", "/deliveries"))
}

func operatorRules() []Rule {
	return slices.Concat(
		[]Rule{{Method: http.MethodPost, Path: "/cluster/probe", Least: model.RoleOperator, Agents: true}}, // agents: for their own node, as the handler checks
		rules(http.MethodPut, model.RoleOperator, "/nodes/{node_id}/mode", "/gpus/{uuid}/mode"),
		rules(http.MethodPatch, model.RoleOperator, "/nodes/{node_id}/labels"),
		rules(http.MethodPost, model.RoleOperator, "/nodes/{node_id}/confirm-dead", "/nodes/{node_id}/foreign/kill", "/nodes/{node_id}/foreign/adopt", "/orchestrator/start", "/orchestrator/stop"),
		rules(http.MethodGet, model.RoleOperator, "/audit", "/audit/refusals", "/audit/reads", "/audit/verify", "/cluster/certificates", "/cluster/rotation"),
		rules(http.MethodDelete, model.RoleOperator, "/nodes/{node_id}"))
}

func adminRules() []Rule {
	return slices.Concat(
		rules(http.MethodPut, model.RoleAdmin, "/orchestrator/policy", "/orchestrator/policies", "/orchestrator/allocation",
			"/quotas/cluster", "/quotas/{scope}/{name}", "/shares/{scope}/{name}", "/reservations/limits", "/users/{user}", "/webhooks/settings", "/cluster/settings"),
		rules(http.MethodPost, model.RoleAdmin, "/gpu/initialize", "/cluster/peers/{peer_id}/promote", "/cluster/peers/{peer_id}/lead", "/cluster/rotation", "/cluster/resume", "/cluster/upgrade/finalize", "/cluster/upgrade/lock", "/cluster/upgrade/unlock",
			"/snapshot/import", "/snapshot/import/jobs", "/snapshot/import/settings", "/snapshot/import/end"),
		rules(http.MethodGet, model.RoleAdmin, "/users", "/snapshot", "/cluster/backup"),
		rules(http.MethodDelete, model.RoleAdmin, "/users/{user}", "/cluster/certificates/{role}/{name}", "/cluster/peers/{peer_id}", "/cluster/rotation"))
}

func agentRules() []Rule {
	return rules(http.MethodPost, model.RoleAgent, "/agent/register", "/agent/renew", "/agent/desired", "/agent/report",
		"/agent/inventory", "/agent/blob", "/agent/silence", "/agent/tail", "/agent/certificate", "/agent/trust")
}
