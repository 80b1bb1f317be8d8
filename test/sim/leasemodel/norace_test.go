//go:build !race

package leasemodel

// usualSchedules is how many schedules are played unless a flag says otherwise.
const usualSchedules = 2000
