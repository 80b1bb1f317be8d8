//go:build !race

package leasemodel

// usualSchedules is how many schedules are played unless a flag sets another number.
const usualSchedules = 2000
