// Package cmdline is what programs with a command line that are clients of the API have in common: exit codes, errors as one line, the
// effect of signals, input, and the wait for a job.
package cmdline
