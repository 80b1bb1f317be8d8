// Package process runs ranks as processes of this host: the supervisor's side in
// Supervise, the agent's in Runner.
//
//	supervise.go  a supervisor's life: prepare, start, watch, finish
//	obey.go       what fence, time limit and agent ask of it, and what it does then
//	family.go     the processes of the rank, and signals to them
//	launch.go     from a record to a process: arguments, environment, folder
//	output.go     the job's output, kept to a size
//	reap.go       children, and how they ended
//	proc.go       what /proc tells of processes
//	runner.go     the agent's side: start, adopt, wake, bury
//	events.go     the pipe on which supervisors wake the agent
//	link.go       further ranks for a supervisor that has nothing left to do
//	clock.go      the clocks of this host
//	watch.go      the end of a process that may be no child
//
// A supervisor is a session leader of its own and shares no pipe with the agent,
// so it outlives it. It takes in the orphans of its rank (as a child subreaper), so
// nothing that the rank starts can leave its tree, and it writes down an end only
// when that tree is empty. If it is killed itself, the kernel kills the job's first
// process, and the agent buries the rest: all processes of the job's session, those
// with the rank's nonce in their environment, and what descends from them. One
// that did leave session and environment behind before its supervisor was killed
// is not found.
package process
