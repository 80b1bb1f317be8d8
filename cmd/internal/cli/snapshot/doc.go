// Package snapshot holds the command berth snapshot: state files are exported, imported into an empty cluster, and
// checked.
//
//	snapshot.go    the commands, and the report of an import
//	write.go       state files are written
//	read.go        state files are read and divided into steps
//	import.go      the steps of an import are sent
//	verify.go      a peer's own snapshot is checked
package snapshot
