package peer

// Consistency is how new a read must be.
type Consistency uint8

// The consistencies.
const (
	// Default reads this peer's state, at least as new as anything that this peer has answered before. While
	// the peer has not caught up, see [Lag.CaughtUp], the read is like Linearizable: the answers of the
	// former process are unknown.
	Default Consistency = iota
	// Stale reads this peer's current state.
	Stale
	// Linearizable reads a state that holds everything acknowledged anywhere before the read began. It costs
	// the leader a log entry, which many reads share, and waits for a leader where none is known.
	Linearizable
)
