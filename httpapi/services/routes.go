// Package services handles requests of services that use GPUs without a job.
package services

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// Allocations adds the paths that allocate GPUs to services, and list what they hold.
func Allocations(a *core.API, doc huma.API) {
	services{a}.route(doc)
	allocations{a}.route(doc)
}

// Workloads adds the paths that estimate what workloads need.
func Workloads(a *core.API, doc huma.API) {
	workloads{a}.route(doc)
}
