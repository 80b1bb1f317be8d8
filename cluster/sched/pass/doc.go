// Package pass holds what one pass of the scheduler works on: the state and the order of the queue, the GPUs that are
// still free, the budget of limits, and the plan so far.
//
//berth:pure
package pass
