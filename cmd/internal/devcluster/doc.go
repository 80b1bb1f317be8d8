// Package devcluster runs a whole cluster as child processes of one program: peers and agents with
// simulated GPUs, as in real deployments, with their data below one folder.
//
//	cluster.go  start, wait until it is ready, kill and stop its members
//	member.go   one child process and how it comes back
//	layout.go   the addresses of the members, kept in cluster.json
//	signin.go   an admin's token of a cluster with authentication
//	jobs.go     jobs that run on when their agents have ended
//	spawn.go    children that do not outlive their parent by accident
//
// berth dev, berth demo, berth bench and the end-to-end tests are built on it.
package devcluster
