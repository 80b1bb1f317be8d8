// Package snapshot holds the command berth snapshot: state files are exported, and imported into an empty
// cluster.
package snapshot
