// Package simgossip tests gossip on a simulated network.
package simgossip
