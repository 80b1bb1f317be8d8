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
package main
