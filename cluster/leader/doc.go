// Package leader runs what only the leader does, while this peer leads.
//
// [Run] waits until the state holds everything that was committed before this
// peer's term, then keeps three deciders at work, each in a loop of its own:
// liveness (who is silent), scheduling (what runs where) and housekeeping (what
// has expired). A decider is a function of the state and the time. Its loop asks
// it, proposes what it says, and waits: until something it looks at has changed,
// or until the next thing it knows of is due. There is no slow tick, and a loop
// never has two proposals under way, so each decision sees what came of the last.
//
// A proposal that is refused or fails is decided again, on the state as it is
// then, after a pause that doubles up to two seconds while it goes on.
//
// The one regular tick is that of the pulse, by which the leader notices that it
// has stood still itself.
package leader
