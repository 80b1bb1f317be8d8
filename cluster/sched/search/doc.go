// Package search finds the best set of jobs to run: it suspends running jobs and starts waiting ones so that the most
// valuable set runs, and leaves an outlook to the passes until the next search.
//
//   - search.go: the search, on package split, and how its layout is carried out.
//   - builder.go, nodes.go, bounds.go, keeper.go: the state as a problem of package split: jobs, nodes, limits, bookings.
//   - staying.go, waiting.go: the jobs that stay where they are, and the waiting jobs that are looked at.
//   - outlook.go, follow.go: what a search leaves, and the passes that continue from that.
//   - inspect.go: what a search leaves out and what its outlook keeps, for tests.
//
//berth:pure
package search
