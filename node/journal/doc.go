// Package journal is what an agent must not forget: its data folder.
//
//	lock       names the process that uses the folder; the folder itself is locked
//	lineage    random and durable: which memory this is; lineage.copy holds it again
//	mark       how the agent's lease stood, for the agent after it
//	run        where the node's run folder is in this life of the kernel
//	attempts/  a folder for each rank that the cluster has not yet heard the end of
//	ended/     those that it has, for a week, and at most 10,000 of them
//
// The folders of ranks are the journal of what was started and not yet reported;
// package runner says what is in them. Their names tell incarnation, job, task,
// attempt and rank. A folder appears with its first files in it or not at all, and
// a name is given only once: a folder is evidence of a start that may have got
// anywhere, so no rank is ever started in one that is there.
package journal
