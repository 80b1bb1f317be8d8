package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// routeTrackers adds the paths in the terms of experiment trackers.
func routeTrackers(a *core.API, doc huma.API) {
	runs{a}.route(doc)
	clusterStates{a}.route(doc)
}

// routeFiles adds the paths that write and read state files.
func routeFiles(a *core.API, doc huma.API) {
	exports{a}.route(doc)
	imports{a}.route(doc)
}
