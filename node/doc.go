// Package node is the agent of a GPU host: it fetches the ranks desired on its node, starts and stops them,
// and reports their progress.
//
// One goroutine owns all state; calls to the cluster and work on disks and processes run in goroutines of
// their own and pass their results back to it. On every event, and four times a second, it takes one step:
//
//	watch      freezes the ranks after a clock gap (fence.MustFreeze)
//	reap       ends ranks whose supervisor has died, and records their end
//	register   registers the node, if the cluster requires it; otherwise:
//	renew      every two seconds; a renewal is never sent twice
//	poll       waits for the newest desired set
//	reconcile  fence.Reconcile plans the steps; the executor carries them out
//	report     reports progress, one call at a time
//	tidy       forgets ranks whose end the cluster has confirmed
//
// Package fence holds the rules of the lease; package runner describes the files on disk.
package node
