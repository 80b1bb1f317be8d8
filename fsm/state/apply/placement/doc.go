// Package placement carries out the commands that start and stop attempts: placing, preempting, suspending, and
// what follows when the last rank of an attempt has ended.
//
//berth:pure
package placement
