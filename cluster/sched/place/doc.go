// Package place finds where a job fits: which free GPUs of which nodes it gets.
//
//   - request.go: what a job needs.
//   - capacity.go: what is free during a pass.
//   - fit.go: all GPUs of a gang, or none; strategy.go and choose.go: which of the nodes and GPUs that hold it.
//   - sites.go: the nodes on which a job may run at all.
//   - bookings.go, expected.go: what bookings leave to a job, now and in a forecast.
//   - reserved.go, guard.go: what is kept for jobs that wait.
//   - shortage.go, demand.go, possible.go: what is missing if a job does not fit.
//
//berth:pure
package place
