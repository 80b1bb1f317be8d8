//go:build race

package simulate

import (
	"flag"
	"testing"

	_ "pgregory.net/rapid" // whose flag this is
)

// The race detector makes a play ten times as dear, and a play has one goroutine: a third of
// the draws will do there. A number on the command line goes before this one.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	m.Run()
}
