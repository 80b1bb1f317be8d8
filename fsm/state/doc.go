// Package state is the replicated state of a cluster and the only way to change it.
//
// A [State] is an immutable value over persistent ordered tables: keep it, read it from any goroutine,
// compare it with the next one. [Apply] makes the next state from one log entry. It is a pure function: no
// clock, no random source, no map order and no environment enters it, so that every peer that applies the
// same log has the same state, and so do the simulator and the replay tool.
//
// Commands check before they write: a refused command has changed nothing, and its Result has the reason. A
// proposal of a user, an agent or the scheduler may be late or wrong; one that is no longer valid is refused
// here, so that a defect elsewhere can waste time but cannot give one GPU to two owners.
//
// Inside, a transaction (tx) holds a cell for each table. A cell forks its table at the first write, updates
// the derived indexes and the counting rows (Usage, NodeUse, the counters of Job and Attempt) by hooks, and
// remembers which keys were touched, from which the digest is made when the transaction commits.
//
// Package check tests the invariants of states and of moves between them.
package state
