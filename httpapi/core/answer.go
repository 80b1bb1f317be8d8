package core

import (
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Answer is a body and the index of the state that it shows.
type Answer[T any] struct {
	Index uint64 `header:"X-Berth-Index" doc:"index of the state that the answer is about"`
	ETag  string `header:"ETag" doc:"of lists that If-None-Match is for"`
	Body  *T
}

// SignedIn is a body together with a cookie.
type SignedIn[T any] struct {
	Index  uint64 `header:"X-Berth-Index" doc:"index of the state that the answer is about"`
	Cookie string `header:"Set-Cookie" doc:"the session, which scripts cannot read"`
	Body   *T
}

// NoJob returns the problem of a job that is not known.
func NoJob() error {
	return problem.Refuse(wire.CodeNotFound, "there is no such job, or it has no such task; of jobs that ended long ago only GET /jobs/{job_id} is available")
}
