// Package runner says how a node runs one rank: what is written down about it,
// and what is asked of those who start and watch it.
//
// Each rank has a folder and a supervisor, a small process that outlives the
// agent. Agent and supervisor share nothing but files:
//
//	in the rank's folder, on disk      written by
//	  rank.json     what is to run     the agent, before the folder has its name
//	  script        if the job has one the agent
//	  stdin         if the job has one the agent
//	  latch         started | never    whoever comes first, once and for ever
//	  exit.json     how it ended       the supervisor; the agent if that was killed
//	  stdout stderr the output         the supervisor
//	  prolog epilog their output       the operator's hooks
//	  tmp/          /tmp of a job that runs under its user's account
//	  work/         the job's own      the job; nothing of Berth's is in it
//	in the node's run folder, in memory
//	  NAME.orders   what is wanted     the agent
//	  NAME.status   how far it is      the supervisor
//	  lease         its start, its ranks the agent
//	  rules         the operator's     the agent
//	  events        a pipe to the agent, which reads of each new status there
//
// Within one life of the kernel whatever was written can be read by whoever comes
// after, synced or not; so nothing here is synced but exit.json. A power cut may
// take the rest. What was not synced then speaks of processes that died with the
// kernel, and the node registers with another boot id, by which the cluster gives
// up all that ran there before anything new can start. That holds for the latch,
// too: no attempt that it guards is ever named again after a reboot.
//
// Small files have a checksum (package smallfile). A damaged or missing file never makes a
// rank count as gone. A supervisor holds its record in memory, shows it to agents in
// memory that no file name leads to, writes its status again when that is lost, and
// leaves the end of its rank in the status, too, in case the rank's folder cannot be used.
//
// The folder in memory is there so that no supervisor has to wait for a disk that
// hangs before it obeys its fence.
package runner
