package httpapi

import (
	"github.com/berth-gpu/berth/httpapi/admin"
	"github.com/berth-gpu/berth/httpapi/agentapi"
	"github.com/berth-gpu/berth/httpapi/compat"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/fleet"
	"github.com/berth-gpu/berth/httpapi/jobs"
	"github.com/berth-gpu/berth/httpapi/members"
	"github.com/berth-gpu/berth/httpapi/services"
)

// New returns the API of a peer.
func New(c core.Config) *core.API {
	a := core.New(c)
	complete := route(a)
	complete()
	return a
}

// route adds the paths of all operations, and returns the function that completes the API. The most frequent
// paths come first, since paths are tried in turn.
func route(a *core.API) (complete func()) {
	doc := a.Document()
	jobs.Submit(a, doc)
	agentapi.Routes(a)
	services.Allocations(a, doc)
	compat.Trackers(a, doc)
	jobs.Changes(a, doc)
	admin.Policies(a, doc)
	jobs.Control(a, doc)
	fleet.Operations(a, doc)
	jobs.Queue(a, doc)
	fleet.History(a, doc)
	admin.Events(a, doc)
	fleet.Nodes(a, doc)
	services.Workloads(a, doc)
	fleet.Peers(a, doc)
	members.Routes(a, doc)
	admin.People(a, doc)
	jobs.Past(a, doc)
	compat.Files(a, doc)
	page(a)
	return func() { a.Complete(doc) }
}
