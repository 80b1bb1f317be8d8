// Package apply makes the next state from one log entry: the only way to change a state.
//
// [Apply] is a pure function: no clock, no random source, no map order and no environment enters it, so that
// every peer that applies the same log has the same state, and so do the simulator and the replay tool.
//
// The packages below carry out the commands, by subject. Commands check before they write: a refused command has
// changed nothing, and its Result has the reason. A proposal of a user, an agent or the scheduler may be late or
// wrong; one that is no longer valid is refused here, so that a defect elsewhere can waste time but cannot give
// one GPU to two owners.
//
//berth:pure
package apply
