// Package compat handles requests in the forms of other programs: runs and the cluster's state for
// experiment trackers, and state files.
package compat

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/httpapi/core"
)

// Trackers adds the paths in the terms of experiment trackers.
func Trackers(a *core.API, doc huma.API) {
	runs{a}.route(doc)
	clusterStates{a}.route(doc)
}

// Files adds the paths that write and read state files.
func Files(a *core.API, doc huma.API) {
	exports{a}.route(doc)
	imports{a}.route(doc)
}
