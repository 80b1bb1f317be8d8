// Package node is the agent of a GPU host: it pulls what is desired on its node,
// brings it about, and reports what became of it.
//
// One goroutine owns everything; calls to the cluster and work on disks and
// processes run beside it and hand their results back to it. Whenever something has
// happened, and four times a second, it takes one step:
//
//	watch      a host that seems to have stood still freezes its ranks (fence.MustFreeze)
//	bury       ranks whose supervisor is gone are ended and their end is written down
//	register   if the cluster must be told (again) who this is; else:
//	renew      every two seconds; a renewal is never sent twice
//	poll       for the newest desired set, as soon as it changes
//	reconcile  fence.Reconcile says what to do; hands.go does it
//	report     what the cluster does not know yet, as one call at a time
//	tidy       what it does know, and wants no more, leaves memory
//
//	config.go   what an agent is given
//	agent.go    the loop and its step
//	desk.go     work beside the loop
//	contact.go  registration and lease
//	puller.go   desired sets
//	unit.go     a rank as the agent knows it
//	book.go     all of them
//	load.go     ranks from the disk
//	hands.go    the steps of a plan
//	bury.go     ranks without a supervisor
//	host.go     what the host says of itself, and the run folder
//	begin.go    starting and refusing ranks
//	clean.go    showing GPUs clean
//	away.go     what runs on while no peer leads at all
//	gpu_owner.go whose the processes on GPUs are
//	blobs.go    scripts and environments
//	teller.go   reports and inventory
//	tail.go     the end of a rank's output
//	keep.go     all of it: where else it goes, and how much stays
//	logs.go     output for those who ask the node
//
// The rules of the lease are those of package fence; package runner says what is on
// disk.
package node
