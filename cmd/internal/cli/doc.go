// Package cli is the base of the program's commands: what commands of every kind have in common.
//
//	failure.go         errors of command lines, exit codes
//	strict.go          what every command refuses: surplus and empty arguments, flags that exclude each other
//	interrupt.go       how commands end that a signal interrupts
//	network.go         how every part of the program listens and dials
//	connect.go, credential.go    how commands reach a cluster, and with which token
//	output.go, yaml.go, sheet.go how answers are printed
//	again.go           a view that is repeated until an interrupt
//	report.go          commands about a span of time
//	ref.go             how jobs and tasks are named
//	values.go, moment.go, input.go    how values, times and files of the command line are read
package cli
