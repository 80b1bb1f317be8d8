// Package e2e tests the whole by real processes: berth dev runs peers, agents and
// supervisors, jobs are shells, and faults are signals.
//
//	harness_test.go  a cluster, whom to kill, what to wait for
//	marks_test.go    what the jobs' own processes have written down
//	loss_test.go     acknowledged jobs, and peers that die
//	agent_test.go    running jobs, and agents and supervisors that die
//	chaos_test.go    any process dies, again and again
//	linear_test.go   recorded histories, checked for linearizability
//	cli_test.go      the command line as users meet it
//	contract_test.go the API's documented examples, against a follower
//
// The program is built once, with the race detector if the tests are.
package e2e
