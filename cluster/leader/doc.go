// Package leader runs the leader's work: the deciders that are active only while this peer leads.
//
// [Run] waits until the state holds everything that was committed before this peer's term, then runs the
// deciders, each in a loop of its own: among others liveness (silent nodes), scheduling (what runs where) and
// housekeeping (what has expired). A decider is a function of the state and the time. Its loop calls it,
// proposes its commands, and waits: until something that it depends on has changed, or until the next thing
// that it knows of is due. There is no slow tick, and a loop never has two proposals under way, so each
// decision sees the result of the last.
//
// A proposal that is refused or fails is decided again, on the state as it is then, after a pause that
// doubles up to two seconds while it goes on.
//
// The one regular tick is that of the pulse, by which the leader detects that its own process was stopped.
package leader
