// Package intake converts requests to commands: each is parsed, completed with defaults and checked
// before a command is made of it. All functions are pure, and the state is only read.
//
//	field.go       the fields of a submission: fields.go and fields_run.go have the table, field_kinds.go the forms of values
//	ask.go         a submission; ask_*.go have the values of fields that no kind covers
//	rules.go       what jobs may run
//	allocation.go  a request of a service for GPUs
//	booking.go     a reservation, and the limits of reservations
//	quota.go       limits of users and projects, and how GPUs are divided
//	names.go       ids, states, roles and scopes by their names
//	imported.go    the jobs of a state file
//	defaults.go    the defaults of jobs in a state file
//	resettle.go    the settings and services of a state file
//
//berth:pure
package intake
