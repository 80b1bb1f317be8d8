package httpapi

import "github.com/berth-gpu/berth/httpapi/core"

// New returns the API of a peer.
func New(c core.Config) *core.API {
	a := core.New(c)
	route(a)
	return a
}

// route adds all paths. The most frequent ones come first, since paths are tried in turn.
func route(a *core.API) {
	doc := a.Document()
	routeSubmit(a, doc)
	routeAgents(a)
	routeServices(a, doc)
	routeTrackers(a, doc)
	routeChanges(a, doc)
	routePolicies(a, doc)
	routeControl(a, doc)
	routeOperations(a, doc)
	routeQueue(a, doc)
	routeHistory(a, doc)
	routeEvents(a, doc)
	routeFleet(a, doc)
	routeWorkloads(a, doc)
	routePeers(a, doc)
	routePeople(a, doc)
	routePast(a, doc)
	routeFiles(a, doc)
	a.Complete(doc)
}
