// Package workload estimates what a workload needs of GPUs: how many, how much memory of each, for
// how long, with which priority, and why.
//
// It is pure: its input is what the cluster has, what earlier runs have used, and what others
// advise. docs/workload.md has the formulas, with their sources.
//
//berth:single
package workload
