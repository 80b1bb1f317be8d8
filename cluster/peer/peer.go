// Package peer holds the nouns that a peer and its API share: what a peer is called, and what it knows of
// itself and of its cluster.
package peer

import "github.com/berth-gpu/berth/fsm/model"

// Server is a peer as Raft's configuration names it.
type Server struct {
	ID      model.PeerID
	Address string // of its peer port
}
