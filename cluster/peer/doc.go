// Package peer holds the nouns that a peer and its API share: what a peer is called, what it knows of itself
// and of its cluster, how new a read is, and why proposals and reads fail.
package peer
