// Package runner describes how a node runs one rank: the files of a rank, and the interfaces for starting and
// watching its supervisor.
//
// Each rank has a folder and a supervisor, a small process that outlives the agent. Agent and supervisor
// share nothing but files:
//
//	in the rank's folder, on disk      written by
//	  rank.json     what is to run     the agent, before the folder has its name
//	  script        if the job has one the agent
//	  stdin         if the job has one the agent
//	  latch         started | never    the first of the two, once and for ever
//	  exit.json     how it ended       the supervisor; the agent if that was killed
//	  stdout stderr the output         the supervisor
//	  prolog epilog their output       the operator's hooks
//	  tmp/          /tmp of a job that runs under its user's account
//	  work/         the job's own      the job; nothing of Berth's is in it
//	in the node's run folder, in memory
//	  NAME.orders   the agent's orders the agent
//	  NAME.status   the progress       the supervisor
//	  NAME.environment of the job      the agent; it may hold secrets, and is on no disk
//	  lease         its start, its ranks the agent
//	  rules         the operator's     the agent
//	  events        a pipe to the agent, which reads of each new status there
//
// Within one boot every file can be read by later processes, synced or not; so only exit.json is synced. A
// power cut may take the rest. Files that were not synced describe processes that died with the kernel, and
// the node registers with another boot id, by which the cluster gives up all that ran there before anything
// new can start. That holds for the latch, too: no attempt that it guards is ever named again after a reboot.
//
// Small files have a checksum (package smallfile). A damaged or missing file never makes a rank count as
// gone. A supervisor holds its record in memory, shows the record to agents in memory without a file name,
// writes its status again when that is lost, and leaves the end of its rank in the status, too, in case the
// rank's folder cannot be used.
//
// The run folder is in memory so that no supervisor has to wait for a disk that hangs before it obeys its
// fence.
package runner
