// Package snapshot writes a state as bytes and reads it back. Damage is found by a checksum over the bytes and by
// the state's digest.
//
//berth:pure
package snapshot
