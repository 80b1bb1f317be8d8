package httpapi

import "github.com/berth-gpu/berth/httpapi/core"

// Route adds the paths of all operations to an API, for a test of an API that is not complete yet.
func Route(a *core.API) (complete func()) { return route(a) }
