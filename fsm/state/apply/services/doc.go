// Package services carries out the commands on allocations: GPUs that a service holds without a job.
package services
