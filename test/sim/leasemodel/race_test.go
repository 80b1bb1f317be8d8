//go:build race

package leasemodel

// usualSchedules is how many schedules are played unless a flag sets another number: under the race detector
// each costs ten times as much.
const usualSchedules = 200
