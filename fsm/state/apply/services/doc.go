// Package services carries out the commands on allocations: GPUs that a service holds without a job.
//
//berth:pure
package services
