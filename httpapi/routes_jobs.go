package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// routeSubmit adds the paths for submissions.
func routeSubmit(a *core.API, doc huma.API) {
	submissions{a}.route(doc)
}

// routeChanges adds the paths for changes of jobs, and for the switches of the orchestrator.
func routeChanges(a *core.API, doc huma.API) {
	changes{a}.route(doc)
}

// routeControl adds the paths that hold, repeat, extend and attach jobs.
func routeControl(a *core.API, doc huma.API) {
	controls{a}.route(doc)
}

// routeQueue adds the paths that show the queue, its forecast, and jobs with their output.
func routeQueue(a *core.API, doc huma.API) {
	queues{a}.route(doc)
	plans{a}.route(doc)
	details{a}.route(doc)
	lists{a}.route(doc)
	outputs{a}.route(doc)
}

// routePast adds the paths that show jobs that have ended, and the use of GPUs.
func routePast(a *core.API, doc huma.API) {
	pasts{a}.route(doc)
}
