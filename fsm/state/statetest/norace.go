//go:build !race

package statetest

const raced = false
