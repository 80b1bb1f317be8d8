// Package sched decides which job runs where, and when.
// It is pure: the same state and the same time give the same plan on every peer.
//
// # A pass
//
// [Plan] goes through what waits in order, on a copy of what is free, so that all
// that it proposes can be carried out together:
//
//  1. Order. A policy scores each waiting task; the wait bound moves some to the
//     front. Services that wait for GPUs stand among the jobs.
//  2. Admit. A task must not be held or in a backoff, its job's throttle and the
//     limits of its user, its project and the cluster must leave room for it.
//  3. Fit. All of a gang's GPUs are found, or none is taken. Of the nodes
//     that hold a part of it, those with the fewest free GPUs are taken,
//     so that large holes stay large; on a node, GPUs that are near each other.
//     A job that leaves the number of nodes open waits for one node if any node is
//     large enough, and is spread over as few as possible if none is.
//     What is reserved for others, or to be maintained, is left alone in time: Apply
//     asks the same [ledger.Books].
//  4. Reserve. For the first tasks that find nothing GPUs are kept from when they
//     are expected to be free; others may pass if they leave as many of those
//     that are free by then.
//  5. Judge. [Judge] runs the same pass up to one task's turn and returns all that
//     keeps the task: the plan places a task exactly if nothing does.
//
// Under fair share, and where jobs may be suspended, steps 2 to 4 are one search
// instead: package split lays out what runs and waits together (search.go).
//
// A search over many jobs costs too much to be made at every event. [PlanLoaded] also
// gives its [Outlook], from which [Between] goes on: in order, without another search.
//
// What Plan proposes is a proposal still: [state.Apply] checks every part again.
//
// Package queue has the order of what waits, package admission the limits, package blocker what can keep a
// task from starting, package explain why one waits and which changes would let it start. [Possible] reports whether a job could run on the cluster's nodes at all.
//
// # What a pass costs
//
// The queue's index keeps the waiting tasks of one class, project, user and shape
// together, in order of submission: a run. A pass merges the heads of the runs.
// What is free only shrinks during a pass, so as soon as one shape fits nowhere,
// or its user has no room under a limit, the rest of the run is left; and a shape
// that fits nowhere is not tried for anybody else. A pass therefore costs as much
// as there are runs, and tasks that it places or that wait for something of their
// own, however long the queue is.
//
// A search has to put all in one order, so it leaves out of small work what certainly comes too
// late (line.go): a layout stops as soon as nothing is free, and says so if it would have come
// to those who were left out.
//
// Nodes are looked at by their number of free GPUs, from the smallest that would
// do: those that are full cost nothing, and those whose GPUs suit are found at
// once. Only GPUs of a wrong type or size are looked at in vain, once a pass.
//
// Tasks for which GPUs are being kept fit where others do not, and tasks that are
// tried again do not fit where they have just failed: the GPUs of the rank that
// failed first are left out, unless the cluster has nothing else to run them on.
// Both are runs of their own.
//
// # Forecasts
//
// [Foresee] tells when what waits is expected to start: it makes the passes to come, on a copy
// of the state that package virtual moves on, with runs as short, as likely and as long
// as they may be (future.go). Where that would cost too much it goes on in order
// (forecast.go). When jobs are suspended meanwhile is noted in pause.go.
package sched
