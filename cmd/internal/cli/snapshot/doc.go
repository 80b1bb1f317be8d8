// Package snapshot holds the command berth snapshot: state files are exported, and imported into an empty
// cluster.
//
//	snapshot.go    the commands, and the report of an import
//	write.go       state files are written
//	read.go        state files are read and divided into steps
//	import.go      the steps of an import are sent
package snapshot
