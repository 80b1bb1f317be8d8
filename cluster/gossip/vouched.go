package gossip

import "time"

// vouchFor is how long a node believes another one that a peer has named as alive. A node has lists of a peer every 3.5 minutes at least.
const vouchFor = 10 * time.Minute

// vouched is when a peer last named each node as alive.
type vouched map[string]time.Time

func (v vouched) note(node string) { v[node] = time.Now() }

// lately reports whether a peer has named a node of late.
func (v vouched) lately(node string) bool {
	at, found := v[node]
	return found && time.Since(at) < vouchFor
}
