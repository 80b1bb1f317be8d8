// Package process runs ranks as processes of this host: Supervise is the supervisor's side, Runner the
// agent's.
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
// rank from being reaped.
package process
