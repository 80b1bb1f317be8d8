// Package sched decides which job runs where, and when.
// It is pure: the same state and the same time give the same plan on every peer.
//
// # A pass
//
// [Plan] goes through the waiting tasks in order, on a copy of what is free, so that
// all of its proposals can be carried out together:
//
//  1. Order. A policy scores each waiting task; the wait bound moves some to the
//     front. Services that wait for GPUs are in the same order as jobs.
//  2. Admit. A task must not be held or in a backoff; its job's throttle and the
//     limits of its user, its project and the cluster must leave room for the task.
//  3. Fit. All of a gang's GPUs are found, or none is taken. Of the nodes
//     that hold a part of the gang, those with the fewest free GPUs are taken,
//     so that large holes stay large; on a node, GPUs that are near each other.
//     A job that leaves the number of nodes open waits for one node if any node is
//     large enough, and is spread over as few as possible if none is.
//     GPUs that are booked for others or for maintenance are left free in time: Apply
//     asks the same [ledger.Books].
//  4. Reserve. For the first tasks that find no GPUs, the pass makes backfill
//     reservations from the time at which GPUs are expected to be free. Other tasks
//     may pass if they leave as many GPUs free at that time.
//  5. Judge. [Judge] runs the same pass up to one task's turn and returns all
//     blockers of the task: the plan places a task exactly if it has no blocker.
//
// Under fair share, and where jobs may be suspended, steps 2 to 4 are one search
// instead: package search makes one layout of the running and the waiting jobs.
//
// A search over many jobs costs too much to be made at every event. [PlanLoaded] also
// returns its [search.Outlook], from which [search.Between] continues: in order, without another search.
//
// A plan is only a proposal: apply.Apply checks every part again.
//
// [Planner.Run] has the steps of a pass. The packages below hold its parts, each of which imports only those before it:
//
//   - blocker, admission, queue: what keeps a task from starting, the limits, and the order of the waiting tasks.
//   - split: the best layout of jobs on nodes, in numbers only.
//   - place: where a job fits; [place.Possible] reports whether it could run on the cluster's nodes at all.
//   - reserve: backfill reservations.
//   - pass: what one pass works on, and its plan so far.
//   - preemption: the jobs that are stopped for a preemptor.
//   - search: the search for the best set of jobs to run.
//
// Above this package, forecast predicts when jobs start, and explain finds why a task waits and which changes would let
// it start.
//
// # What a pass costs
//
// The queue's index keeps the waiting tasks of one class, project, user and shape
// together, in order of submission: a run. A pass merges the heads of the runs.
// The number of free GPUs only shrinks during a pass, so as soon as one shape fits nowhere,
// or its user has no room under a limit, the rest of the run is skipped; and a shape
// that fits nowhere is not tried for other users. The cost of a pass therefore grows
// with the number of runs, of tasks that it places and of tasks with a blocker of their
// own, but not with the length of the queue.
//
// A search has to put all jobs in one order, so it leaves out small jobs that certainly come too
// late (search/waiting.go). A layout stops as soon as nothing is free, and reports whether it would have reached
// jobs that were left out.
//
// Nodes are looked at by their number of free GPUs, from the smallest number that is
// enough: full nodes cost nothing, and nodes with suitable GPUs are found at
// once. Only GPUs of a wrong type or size are looked at without result, once a pass.
//
// Tasks with claims fit where others do not, and tasks that are
// tried again do not fit where they have just failed: the GPUs of the rank that
// failed first are left out, unless the cluster has no other GPUs for the task.
// Both are runs of their own.
//
//berth:pure
package sched
