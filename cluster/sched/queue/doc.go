// Package queue orders what waits: the policies, fair shares of users and projects, the bound on the wait that
// brings a task to the front, and a task's position. An [Ordering] compares any two waiting tasks at
// one instant; a [Queue] yields them in order, run by run.
//
// A run is the waiting tasks of one class, project, user and shape. Within a run the order is that of
// submission, so only the heads of runs are compared, however long the queue is.
//
//berth:pure
package queue
