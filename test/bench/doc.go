// Command bench measures three peers on one machine: how many commands a second
// they commit and how long a caller waits, how long there is no leader after one
// was killed, and whether a busy machine makes them elect without need.
//
//	go run ./test/bench                      commit and failover
//	go run ./test/bench elections            ten minutes with every core busy
//	go run ./test/bench commit -callers 64   one part, with flags
//	go run ./test/bench all -md              every part, as rows for RESULTS.md
//	go run ./test/bench client               what a call of the program berth costs, next to sbatch if that is there
//	go run ./test/bench upgrade              what clients notice of a rolling upgrade from the release before
//	go run ./test/bench aims -traces FOLDER  what berth simulate makes of public traces, against the aims
//
// The peers are processes of their own, over TCP on loopback and with data
// folders of the production kind; every commit waits for the disk. Commands are
// proposed inside the leader's process: what is measured is the log and the
// state, not an API. The same is done with bare hashicorp/raft on raft-boltdb, one
// entry a command, so that a figure can be read as a ratio on any machine.
//
//	main.go       flags and parts
//	commit.go     throughput and latency
//	failover.go   kill -9 of the leader
//	elections.go  no election without need
//	client.go     processes that submit one job each
//	upgrade.go    peers that are upgraded under load
//	aims.go       plays of public traces, held against what they should give
//	trio.go       three child processes, and talking to one of them
//	wire.go       what parent and child say to each other, a JSON line each
//	child.go      the other end: serves the parent's requests
//	load.go       the callers
//	berth.go      a Berth peer to measure; bare.go: a bare raft peer
//	machine.go    what the figures depend on
//	table.go      how they are printed; stats.go: how they are summed up
package main
