// Package cores decides where jobs without GPUs run. Such a job holds cores and memory of its nodes. It is the last
// step of a pass and has a queue of its own, so that the pass gives GPUs to the same jobs with it and without it: GPUs
// never wait for cores, and cores never wait for GPUs.
//
//berth:pure
package cores
