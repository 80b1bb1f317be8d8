// Package sched decides which job runs where. It is pure: the same state and the
// same time give the same plan on every peer.
//
// The order is that of submission, and the first places that fit are taken.
// [Plan] tries a placement on a copy of what is free, so that all that it
// proposes can be carried out together. What it proposes is a proposal still:
// [state.Apply] checks every part of it again.
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
// Tasks for which GPUs are being kept fit where others do not. They are runs of
// their own.
package sched
