// Package preemption chooses the running jobs that are stopped for a job with a higher right to their GPUs: the
// preemptor is of a higher class, or takes back what others borrow of its owner's guarantee.
//
//   - preemption.go: the preemptors in order, and the possible victims.
//   - preemptor.go: the GPUs that one preemptor could have on each node.
//   - rights.go: which GPUs of which jobs a preemptor may take.
//   - cheapest.go: the victims that cost least.
//
//berth:pure
package preemption
