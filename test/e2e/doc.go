// Package e2e tests the whole by real processes: berth dev runs peers, agents and
// supervisors, jobs are shells, and faults are signals.
//
//	harness_test.go    a cluster, members to kill, events to wait for
//	marks_test.go      what the jobs' own processes have written down
//	demo_test.go       the README's first command
//	cli_test.go        the command line as users meet it, with run_test.go and turns_test.go
//	documents_test.go  the API's documented examples, against a follower
//	access_test.go     rights of callers, and keys_test.go the file of keys
//	loss_test.go       acknowledged jobs, and peers that die
//	agent_test.go      running jobs, and agents and supervisors that die
//	cut_test.go        nodes that are cut off, by way of island_test.go
//	chaos_test.go      any process dies, again and again
//	crowd_test.go      a hundred clients meanwhile, with visit_test.go and kept_test.go
//	linear_test.go     recorded histories, checked for linearizability
//	flood_test.go      more connections than a peer takes
//	clients_test.go    programs of others that drive Slurm, if BERTH_TEST_PYTHON is set
//	snapshot_test.go   queues that are exported and imported
//
// The program is built once, with the race detector if the tests are and run in full length.
package e2e
