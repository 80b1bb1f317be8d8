package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Law is one rule of the repository.
type Law struct {
	Name  string // one word, as in the example folder's file names
	Why   string // the reason of the law, for the reader of a failing test
	Check func(*Tree) []Finding
}

// Laws lists every law. A new one also needs an example in testdata that breaks it.
func Laws() []Law {
	return []Law{
		{"types", "the laws that need types are blind in a package that does not compile", checkTypes},
		{"folders", "the root shows what the product is made of", checkFolders},
		{"imports", "some imports must never be, so that a part can be read, tested and replaced alone", checkImports},
		{"links", "a program that starts for each submission or each job holds little", checkLinks},
		{"purity", "peers replay one log: a clock, goroutine or random number makes them disagree", checkPurity},
		{"single", "the race detector is left out where there is nothing to find", checkSingle},
		{"maporder", "a map has another order in every process: what is built from it differs between peers", checkMapOrder},
		{"rows", "a version of the state is shared by all its readers: a row that can be reached can be changed under them", checkRows},
		{"tags", "the nouns have one encoding, the log's; JSON shapes belong to httpapi/wire", checkTags},
		{"markers", "a marker that marks nothing silences a law, or leaves it blind, unseen", checkMarkers},
		{"lines", "a line that is longer than a window is not read to its end", checkLines},
		{"packages", "inside a package everything may use everything: one that is too large cannot be read or replaced in parts", checkPackages},
		{"globals", "state outside a value is shared by tests, peers and goroutines without anybody saying so", checkGlobals},
		{"exits", "a panic or exit takes a whole peer down; only the halt helper and main may decide that", checkExits},
		{"sleeps", "a test that sleeps is slow when it passes and wrong when the machine is busy", checkSleeps},
		{"urls", "an address comes from another machine: put into a URL as text it may hold a path, or lead to another host", checkURLs},
		{"produced", "an event that nothing announces, and a command that nothing proposes, promise what never happens", checkProduced},
		{"tested", "a change of a package is tried by the tests next to it: where there are none the tests of the whole API or scheduler must run", checkTested},
		{"proofs", "a promise is worth the test that shows it: one that is gone, or was never written, shows nothing", checkProofs},
		{"words", "every word must mean something to a reader with only this repository", checkWords},
	}
}

// Report formats what broke the law, for the log of a failing test: the law, then the places, those
// with one remedy together.
func (l Law) Report(found []Finding) string {
	var remedies []string
	for _, f := range found {
		if !slices.Contains(remedies, f.Do) {
			remedies = append(remedies, f.Do)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the law %q is broken: %s", l.Name, l.Why)
	for _, do := range remedies {
		for _, f := range found {
			if f.Do == do {
				fmt.Fprintf(&b, "\n%s: %s", f.place(), f.What)
			}
		}
		fmt.Fprintf(&b, "\n    do: %s", do)
	}
	return b.String()
}
