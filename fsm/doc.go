// Package fsm adapts the replicated state to Raft: it decodes log entries, applies them, publishes each new
// state to readers, writes and reads snapshots, and halts the peer when going on would mean to guess.
//
// The package has no rules of its own. The effect of an entry is apply.Apply's; which peer may propose is the
// cluster's. A reader takes the published state without a lock and may keep it for ever.
package fsm
