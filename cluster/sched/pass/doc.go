// Package pass holds what one pass of the scheduler works on: the state and the order of the queue, the GPUs that are
// still free, the budget of limits, and the plan so far.
//
//   - pass.go: the pass; admit.go: whether a task may start no matter which GPUs are free.
//   - start.go: how a task is started on GPUs that were found for it.
//   - bookings.go: jobs that are suspended for a booking that has begun.
//   - kept.go, outcome.go: GPUs that are kept for waiting tasks, and the results of trying one.
//
//berth:pure
package pass
