// Package blocker names what can keep a task from starting, from a limit to a lack of free GPUs, and puts
// each reason into words with its numbers. It decides nothing: admission, the pass of the
// scheduler and explanations return its values.
//
//berth:pure
package blocker
