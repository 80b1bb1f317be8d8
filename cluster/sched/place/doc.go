// Package place finds where a job fits: which free GPUs of which nodes it gets.
//
//berth:pure
package place
