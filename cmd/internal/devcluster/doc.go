// Package devcluster runs a whole cluster as child processes of one program: peers
// and agents with simulated GPUs, as real deployments have them, with their data
// below one folder.
//
//	cluster.go  start, wait until it is ready, kill and stop its members
//	member.go   one child process and how it comes back
//	layout.go   who has which address, kept in cluster.json
//	jobs.go     jobs that run on when their agents have ended
//	spawn.go    children that do not outlive their parent by accident
//
// It is what berth dev, berth demo, berth bench and the tests of the whole stand on.
package devcluster
