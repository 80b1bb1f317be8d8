// Package e2e tests the whole by real processes: berth dev runs peers, agents and
// supervisors, jobs are shells, and faults are signals.
//
// The program is built once, with the race detector if the tests are and run in full length.
package e2e
