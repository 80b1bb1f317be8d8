// Package workload estimates what a workload needs of GPUs: how many, how much memory of each, for
// how long, with which priority, and why.
//
// It is pure: its input is what the cluster has, what earlier runs have used, and what others
// advise. docs/workload.md has the formulas, with their sources.
//
//	analyze.go   the way from a request to a plan
//	data.go      what is read of a service's own data
//	model.go     the shape of a model from its size
//	memory.go    bytes
//	speed.go     operations, and how many of them GPUs do in a second
//	fleet.go     the GPUs that hold it
//	past.go      what earlier runs have used
//	advice.go    the advice of others, within bounds
//	defaults.go  the assumptions without other data
//
//berth:single
package workload
