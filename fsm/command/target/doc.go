// Package target names what a command is about, for the audit trail. The names are in the digest and do not change
// after a release.
//
//berth:pure
package target
