package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// routeServices adds the paths that allocate GPUs to services, and list what they hold.
func routeServices(a *core.API, doc huma.API) {
	services{a}.route(doc)
	allocations{a}.route(doc)
}

// routeWorkloads adds the paths that estimate what workloads need.
func routeWorkloads(a *core.API, doc huma.API) {
	workloads{a}.route(doc)
}
