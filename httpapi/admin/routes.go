// Package admin handles requests of administrators and operators, and what users see of their work:
// policies, quotas, users, the audit trail, events and webhooks.
package admin

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// Policies adds the paths for the policy, the settings of the cluster, quotas and shares.
func Policies(a *core.API, doc huma.API) {
	policies{a}.route(doc)
	settings{a}.route(doc)
	quotas{a}.route(doc)
}

// Events adds the paths for events and webhooks.
func Events(a *core.API, doc huma.API) {
	events{a}.route(doc)
	webhooks{a}.route(doc)
}

// People adds the paths for users, tokens, sessions, the identity provider and the audit trail.
func People(a *core.API, doc huma.API) {
	people{a}.route(doc)
	sessions{a}.route(doc)
	providers{a}.route(doc)
	audits{a}.route(doc)
}
