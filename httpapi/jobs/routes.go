// Package jobs handles requests about jobs: submissions, changes, the queue, single jobs with their
// output, and jobs that have ended.
package jobs

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// Submit adds the paths for submissions.
func Submit(a *core.API, doc huma.API) {
	submissions{a}.route(doc)
}

// Changes adds the paths for changes of jobs, and for the switches of the orchestrator.
func Changes(a *core.API, doc huma.API) {
	changes{a}.route(doc)
}

// Control adds the paths that hold, repeat, extend and attach jobs.
func Control(a *core.API, doc huma.API) {
	controls{a}.route(doc)
	bulks{a}.route(doc)
}

// Queue adds the paths that show the queue, its forecast, and jobs with their output.
func Queue(a *core.API, doc huma.API) {
	queues{a}.route(doc)
	plans{a}.route(doc)
	details{a}.route(doc)
	specs{a}.route(doc)
	lists{a}.route(doc)
	outputs{a}.route(doc)
	tunnels{a}.route(doc)
}

// Past adds the paths that show jobs that have ended, and the use of GPUs.
func Past(a *core.API, doc huma.API) {
	pasts{a}.route(doc)
}
