// Package process runs ranks as processes of this host: the supervisor's side in
// Supervise, the agent's in Runner.
//
//	supervise.go    a supervisor's life: prepare, start, watch, finish
//	gear.go         what a rank needs first: an account, a place for checkpoints, the prolog
//	obey.go         what fence, time limit and agent ask of it, and what it does then
//	ask.go          the stop signal, and which process gets it when
//	alarm.go        the next instant at which something is due, on a clock that counts suspension
//	prompt.go       signals that the job asked for: ahead of its limit, for a checkpoint
//	store.go        its checkpoints: where they are, and when one was finished
//	hook.go         the operator's prolog and epilog
//	family.go       the processes of the rank, and signals to them
//	launch.go       from a record to a process: arguments, folder
//	isolated.go     the same under the account of the job's user
//	environment.go  the variables that a job finds
//	output.go       the job's output, kept to a size
//	reap.go         children, and how they ended
//	proc.go         the processes of this host, as a rank is found among them
//	spare.go        who goes last when memory runs out
//	trim.go         less memory for supervisors that stay
//	runner.go       the agent's side: start, adopt, wake
//	card.go         how a supervisor is found when its files are lost
//	conclude.go     how the end of a rank is kept
//	bury.go         what a killed supervisor has left
//	orphans.go      the same without cgroups: what the kernel gives to the agent
//	rules.go        what the operator lays down for all ranks of a node
//	host.go         what this host can do for them
//	events.go       the pipe on which supervisors wake the agent
//	link.go         further ranks for a supervisor that has nothing left to do
//	clock.go        the clocks of this host
//	watch.go        the end of a process that may be no child
//
// A supervisor is a session leader of its own and shares no pipe with the agent,
// so it outlives it. It takes in the orphans of its rank (as a child subreaper), so
// nothing that the rank starts can leave its tree, and it writes down an end only
// when that tree is empty. Where the host lets it, the rank has a cgroup of its own,
// too, which is frozen, killed and shown to be empty as a whole.
//
// If a supervisor is killed itself, the kernel kills the job's first process, and the
// agent buries the rest: all in the rank's cgroup, all processes of the job's session,
// those with the rank's nonce in their environment, and what descends from them. On a
// host without cgroups the agent is a child subreaper as well, and ends what comes to it.
// If it did not live then, an orphan that may be the rank's keeps the rank from being
// buried.
package process
