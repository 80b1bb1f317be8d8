// Package process runs ranks as processes of this host: Supervise is the supervisor's side, Runner the
// agent's.
//
//	supervise.go    a supervisor's life: prepare, start, watch, finish
//	gear.go         what a rank needs first: an account, a place for checkpoints, the prolog
//	fault.go        whose fault it is that a rank does not start, and what waits for no file system that hangs
//	start.go        the latch, and the first process
//	stage.go        that process until it is the job
//	report.go       what is heard from it until then
//	obey.go         actions on the fence, the time limit and the agent's orders
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
//	spare.go        the order in which the kernel kills when memory runs out
//	trim.go         less memory for supervisors that stay
//	runner.go       the agent's side: start, adopt, wake
//	card.go         how a supervisor is found when its files are lost
//	conclude.go     how the end of a rank is kept
//	bury.go         the remains of a rank whose supervisor was killed
//	orphans.go      the same without cgroups: orphans that the kernel gives to the agent
//	rules.go        the operator's rules for all ranks of a node
//	host.go         the isolation that this host allows
//	events.go       the pipe on which supervisors wake the agent
//	link.go         further ranks for a supervisor that has nothing left to do
//	clock.go        the clocks of this host
//	watch.go        the end of a process that may not be a child
//
// A supervisor touches nothing that users can change: their file systems may hang. Folders of the job's own are made while
// the rank is prepared, in a goroutine and within a limit; its working folder and its program are for the stage, a process that
// becomes the job.
//
// A supervisor is a session leader of its own and shares no pipe with the agent, so it outlives the agent. It
// adopts the orphans of its rank (as a child subreaper), so no process of the rank can leave its tree, and it
// writes an end only when that tree is empty. Where the host allows, the rank has a cgroup of its own, too,
// which is frozen, killed and proven empty as a whole.
//
// If a supervisor is killed itself, the kernel kills the job's first process, and the agent buries the rest:
// all in the rank's cgroup, all processes of the job's session, those with the rank's nonce in their
// environment, and their descendants. On a host without cgroups the agent is a child subreaper as well, and
// ends the orphans that it adopts. If the agent did not run then, an orphan that may be the rank's keeps the
// rank from being buried.
package process
