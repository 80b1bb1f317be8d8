// Package raftnet_test runs the peers' network code, and raft over it, on a simulated network: what each guard
// of raftnet.Transport holds off is shown with the guard off, and absent with it on.
package raftnet_test
