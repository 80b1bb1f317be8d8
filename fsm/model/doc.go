// Package model holds Berth's nouns: jobs, tasks, attempts, ranks, nodes, GPUs, slots, leases and the
// settings of a cluster, with the rules by which each of them is valid by itself.
//
// Types marked "berth:row" are rows of the replicated state's tables. A row is a plain comparable value: no
// pointer, slice or map, so that readers of a state cannot change it, two rows can be compared with ==, and a
// snapshot of a table is a set of copies. What would be a list elsewhere (the ranks of an attempt, the GPUs
// of a rank, the timeline of a job) is a table of its own.
//
// Field numbers in cbor tags are for ever: they are in logs and snapshots on disks. A field is never
// renumbered and a number is never used again.
//
// The package imports nothing of Berth, reads no clock and holds no state.
//
//berth:pure
package model
