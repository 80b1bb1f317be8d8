package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
)

// maxUntested bounds the lines of a package, without test files, that needs no test in its own folder.
const maxUntested = 300

// untested lists the packages with more lines and no test in their folder, with where what they do is tested. It may only
// shrink: a package that gets a test leaves it, and none comes in.
func untested() map[string]string {
	const (
		log  = "its tests compare outcomes of whole commands, in fsm/state/apply"
		pass = "its tests look at whole passes, in cluster/sched"
	)
	return map[string]string{
		"cluster/sched/admission":   pass,
		"cluster/sched/blocker":     pass,
		"cluster/sched/cores":       pass,
		"cluster/sched/pass":        pass,
		"cmd/internal/bench":        "no test runs it: it measures real processes, and its figures stand in test/bench/RESULTS.md",
		"cmd/internal/cli/snapshot": "its tests run the commands against processes, in test/e2e",
		"fsm/state":                 "it is read by the tests of all that the state is made by, in fsm/state/apply",
		"fsm/state/apply/admin":     log,
		"fsm/state/apply/bookings":  log,
		"fsm/state/apply/fleet":     log,
		"fsm/state/apply/placement": log,
		"fsm/state/ledger":          log,
	}
}

// checkTested looks for packages that are large and have no test in their own folder.
func checkTested(t *Tree) []Finding {
	lines, tested := map[string]int{}, map[string]bool{}
	for _, f := range t.Files {
		switch {
		case below(f.Dir, "test") || forTests(f.Dir):
		case f.Test:
			tested[f.Dir] = tested[f.Dir] || holdsTest(f.AST)
		default:
			lines[f.Dir] += bytes.Count(f.Src, []byte("\n"))
		}
	}
	var fs []Finding
	listed := untested()
	for dir, n := range lines { // order-free: findings are sorted
		_, known := listed[dir]
		fs = append(fs, judgeTested(dir, n, tested[dir], known)...)
	}
	return sorted(fs)
}

// judgeTested compares a package with the bound and the list.
func judgeTested(dir string, lines int, tested, listed bool) []Finding {
	lacks := lines > maxUntested && !tested
	switch {
	case lacks && !listed:
		return []Finding{{
			File: dir, What: fmt.Sprintf("the package has %d lines and no test in its folder (limit %d)", lines, maxUntested),
			Do: "write its tests next to it, as package " + baseName(dir) + "_test where they need a whole state or API (statetest, schedtest, apitest)",
		}}
	case !lacks && listed:
		return []Finding{{
			File: "test/arch/tested.go", What: fmt.Sprintf("%s is listed and has %d lines, tests: %t", dir, lines, tested),
			Do: "take it off the list, which may only shrink",
		}}
	}
	return nil
}

// holdsTest reports whether a test file declares a test or a fuzz target.
func holdsTest(f *ast.File) bool {
	for _, d := range f.Decls {
		fn, is := d.(*ast.FuncDecl)
		if is && fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
			return true
		}
	}
	return false
}
