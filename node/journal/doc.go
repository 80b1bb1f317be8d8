// Package journal is an agent's data folder: the facts that the agent must not forget.
//
//	lock       names the process that uses the folder; the folder itself is locked
//	lineage    random and durable: identifies this folder; lineage.copy holds it again
//	mark       the agent's lease, for the agent after it
//	run        where the node's run folder is in this boot
//	attempts/  a folder for each rank whose end the cluster has not confirmed
//	ended/     those whose end it has, for a week, and at most 10,000 of them
//
// The folders of ranks are the journal of what was started and not yet reported; package runner describes
// their content. Their names consist of incarnation, job, task, attempt and rank. A folder appears with its
// first files in it or not at all, and a name is given only once: a folder is evidence of a start that may
// have got anywhere, so no rank is ever started in an existing one.
//
//berth:single
package journal
