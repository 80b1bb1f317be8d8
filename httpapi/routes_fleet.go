package httpapi

import "github.com/danielgtaylor/huma/v2"

// routeOperations adds the paths for changes of nodes and GPUs, and for reservations.
func routeOperations(a *API, doc huma.API) {
	operations{a}.route(doc)
	reservations{a}.route(doc)
}

// routeHistory adds the paths that show the telemetry of the last minutes.
func routeHistory(a *API, doc huma.API) {
	histories{a}.route(doc)
}

// routeFleet adds the paths that show GPUs and nodes.
func routeFleet(a *API, doc huma.API) {
	fleet{a}.route(doc)
}

// routePeers adds the paths that show peers and their health.
func routePeers(a *API, doc huma.API) {
	peers{a}.route(doc)
}
