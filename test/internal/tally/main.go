// Command tally reads what `go test -json` prints, shows one line a package and
// the output of what failed, and ends with the totals:
//
//	go test -json ./... | go run ./test/internal/tally
//
// It exits with 1 when anything failed or when there was nothing to count.
//
//berth:single
package main

import (
	"fmt"
	"os"
)

func main() {
	t := newTally()
	if err := t.read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "tally: %v\n", err)
		os.Exit(1)
	}
	t.print(os.Stdout)
	if !t.good() {
		os.Exit(1)
	}
}
