//go:build race

package vm

// raced reports whether the tests are built with the race detector, which does not reach into the guest.
const raced = true
