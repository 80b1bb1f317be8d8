package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// routeOperations adds the paths for changes of nodes and GPUs, and for reservations.
func routeOperations(a *core.API, doc huma.API) {
	operations{a}.route(doc)
	reservations{a}.route(doc)
}

// routeHistory adds the paths that show the telemetry of the last minutes.
func routeHistory(a *core.API, doc huma.API) {
	histories{a}.route(doc)
}

// routeFleet adds the paths that show GPUs and nodes.
func routeFleet(a *core.API, doc huma.API) {
	fleet{a}.route(doc)
}

// routePeers adds the paths that show peers and their health.
func routePeers(a *core.API, doc huma.API) {
	peers{a}.route(doc)
}
