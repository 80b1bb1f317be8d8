// Package preemption chooses the running jobs that are stopped for a job with a higher right to their GPUs: the
// preemptor is of a higher class, or takes back what others borrow of its owner's guarantee.
//
//berth:pure
package preemption
