// Package fleet handles requests about GPUs, nodes, reservations and peers.
package fleet

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// Operations adds the paths for changes of nodes and GPUs, and for reservations.
func Operations(a *core.API, doc huma.API) {
	operations{a}.route(doc)
	reservations{a}.route(doc)
}

// History adds the paths that show the telemetry of the last minutes.
func History(a *core.API, doc huma.API) {
	histories{a}.route(doc)
}

// Nodes adds the paths that show GPUs and nodes.
func Nodes(a *core.API, doc huma.API) {
	fleet{a}.route(doc)
	sampled{a}.route(doc)
	past{a}.route(doc)
	options{a}.route(doc)
}

// Peers adds the paths that show peers and their health.
func Peers(a *core.API, doc huma.API) {
	peers{a}.route(doc)
}
