// Package explain returns why a task waits, and which changes would let the task start.
//
// [Task] runs the pass of the scheduler up to the task's turn and collects all that keeps the task, not only the
// first reason. Each change that it names was tried: the pass ran again on a copy of the state with the change,
// and placed the task.
//
//berth:pure
package explain
