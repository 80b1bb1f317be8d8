// Package tx is one log entry being applied: a transaction on a state.
//
// A [Tx] holds a cell for each table. A cell forks its table at the first write, updates the derived indexes and
// the counting rows (Usage, NodeUse, the counters of Job and Attempt) by hooks, and remembers which keys were
// touched, from which the digest is made when the transaction commits. The package also holds what follows from
// writes on every subject: timelines, notices and their deliveries, request ids, the audit trail.
//
//berth:pure
package tx
