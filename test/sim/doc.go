// Package sim runs whole clusters of Berth in virtual time and tries to break them: production peers over a
// simulated network and simulated disks, model agents that decide by the production rules of node/fence, users, and
// a driver of faults, all in one testing/synctest bubble. The checks use the truth that no program under test can
// see: which processes ran on which host and GPU, and which answers the users got.
//
// The checks and their times:
//
//   - At every process that starts, and ten times a virtual second: no two attempts of a task run anywhere, no GPU
//     has processes of two ranks (truth.go).
//   - After every entry of the log, at the latest a tenth of a second later: the move from state to state
//     (check.Move), and of what it has changed that a task has one live attempt and a slot one owner, which
//     lives (oracle.go).
//   - At every placement in the log: it is not before the job's begin, nor before the end that it waits for, has as
//     many GPUs as the job takes, and leaves alone what is reserved for others or to be maintained in its time
//     (rules.go, rules_book.go).
//   - At every process that starts: its node is one that the job allows; and ten times a second: no more tasks of
//     an array run than it allows, no job at the same time as one whose end it waits for, and once healed none long
//     after its deadline.
//   - Ten times a second: each peer's state has the digest that the log gives.
//   - After every fiftieth entry and at the end: the whole state (check.State).
//   - Each second: the exits recorded since are the true ones.
//   - Each second, once healed: no attempt that starts or stops stays as it is for longer than its times allow
//     .
//   - At the end, healed: progress within seconds, every job at its end, every GPU clean, all peers of one state,
//     and every request that was acknowledged in it, once.
//
// Three seeds in ten run with the usual timeouts of a good network, the others with those of a wide one; all but
// one in ten announce more rarely than in production how far the log is committed. That is most of what a quiet
// minute costs.
//
// Without flags fifty seeds are played for about four virtual minutes each, and twelve under the race detector,
// which makes a minute ten times as dear. What saves time may not spare a check: a new check should read what has
// changed since the last one, and anything that polls should do so no more often than the run needs.
//
// Users and agents reach peers as they do in production: HTTP over the simulated network, by httpapi/client to
// httpapi, where httpapi/forward brings writes to the leader. So the check that acknowledged requests are in the
// log, once, is a check of the retries of all three, too: a peer or a client that sends an unknown outcome again
// must do so under the same key. Holds, releases, requeues and nodes' modes, for which the API has no path, take
// one of the simulator's own (POST /command) behind the same middleware.
//
// Run one seed, or many:
//
//	go test ./test/sim -run TestSim -sim.seed 7 -sim.seeds 1
//	go test ./test/sim -run TestSim -sim.seeds 1000 -sim.minutes 10
//
// A run that fails prints its seed, the faults and the end of the command log, and leaves both in files. The seed
// alone fixes the faults and the users' requests but not how goroutines interleave; for that the runtime must be
// built so that it draws its choices from the seed, too. Then nearly every run of a seed goes the same way
// (TestReplay and the trace's hash show that); try again if one does not:
//
//	go run ./test/sim/overlay -out /tmp/overlay
//	GOMAXPROCS=1 GODEBUG=asyncpreemptoff=1,randseednop=0 GOGC=off \
//	    go test -tags simoverlay -overlay /tmp/overlay/overlay.json ./test/sim -run TestSim -sim.seed 7 -sim.seeds 1
//
// The tests of the tests are TestMutant, TestMutantMapOrder and TestRules: each breaks one rule, in a course of
// events that passes with the rule whole, and a check must find it by name. The users' requirements are checked
// against what the users remember of them, not against the state: in TestRules a requirement is kept from the
// cluster, and the resulting breach must be found by name. TestSim reports how many placements each such rule
// concerned, and fails if none.
//
// The model of the cluster's edges is simple where it may be: a paused machine's traffic and agents stop but its
// peer's goroutines do not, and there is no restore from a backup.
package sim
