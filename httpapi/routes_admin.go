package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// routePolicies adds the paths for the policy, the settings of the cluster, quotas and shares.
func routePolicies(a *core.API, doc huma.API) {
	policies{a}.route(doc)
	settings{a}.route(doc)
	quotas{a}.route(doc)
}

// routeEvents adds the paths for events and webhooks.
func routeEvents(a *core.API, doc huma.API) {
	events{a}.route(doc)
	webhooks{a}.route(doc)
}

// routePeople adds the paths for users, tokens and the audit trail.
func routePeople(a *core.API, doc huma.API) {
	people{a}.route(doc)
	audits{a}.route(doc)
}
