package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// maxCycle bounds the lines of the largest set of files of a package, without test files, that depend on one another in a cycle: what
// cannot be read or replaced in parts. The files, lines and names of a package have no bound: such bounds had packages divided where they
// have one subject.
const maxCycle = 2000

// oversized lists the packages with a larger cycle than maxCycle, with the lines that the cycle may have until
// it is divided. They may only shrink.
func oversized() map[string]int {
	return map[string]int{
		"cluster":             2550,
		"cluster/gossip":      2050,
		"fsm/model":           2950,
		"fsm/state/check":     2050,
		"node":                2900,
		"node/runner/process": 3150,
		"test/sim":            4050,
	}
}

// checkPackages measures packages.
func checkPackages(t *Tree) []Finding {
	var fs []Finding
	listed := oversized()
	for dir, n := range t.largestCycles() { // order-free: findings are sorted
		fs = append(fs, judgeCycle(dir, n, listed)...)
	}
	return sorted(append(fs, t.strangers()...))
}

// strangers finds files of another package than that of the first file of their folder. The compiler does not
// read files of other build tags, so a file that was moved may keep its old name unseen.
func (t *Tree) strangers() []Finding {
	var fs []Finding
	first := map[string]string{} // by folder
	for _, f := range t.Files {
		name := strings.TrimSuffix(f.AST.Name.Name, "_test")
		if first[f.Dir] == "" {
			first[f.Dir] = name
		}
		if name != first[f.Dir] {
			fs = append(fs, Finding{
				File: f.Path, Line: t.Fset.Position(f.AST.Name.Pos()).Line, Do: "name the package of the folder",
				What: fmt.Sprintf("the file is of package %s, others of its folder are of %s", name, first[f.Dir]),
			})
		}
	}
	return fs
}

// judgeCycle compares the lines of the largest cycle of a package with the limit, or with those that it may have until it is
// divided. The latter may be at most a twentieth above what is measured, so that it shrinks with the package.
func judgeCycle(dir string, n int, listed map[string]int) []Finding {
	allowed := listed[dir]
	switch {
	case n > max(maxCycle, allowed):
		return []Finding{{
			File: dir, Do: "divide the package by subject; a dependency between the parts points one way",
			What: fmt.Sprintf("the package has %d lines in files that depend on one another in a cycle of %d", n, max(maxCycle, allowed)),
		}}
	case allowed > maxCycle && allowed > n+n/20, allowed > 0 && allowed <= maxCycle:
		return []Finding{{
			File: "test/arch/packages.go", Do: "lower the entry of the package, or remove what is within the limit",
			What: fmt.Sprintf("%s may have %d lines in a cycle and has %d (limit %d)", dir, allowed, n, maxCycle),
		}}
	}
	return nil
}

// largestCycles returns the lines of the largest cycle of every package, by its folder.
func (t *Tree) largestCycles() map[string]int {
	out, lines := map[string]int{}, map[string]int{}
	for _, f := range t.Files {
		if !f.Test {
			lines[f.Path], out[f.Dir] = bytes.Count(f.Src, []byte("\n")), 0
		}
	}
	for _, p := range t.Typed {
		if _, known := out[room(p)]; !known || p.ForTest != "" {
			continue
		}
		for _, cycle := range cycles(t.uses(p)) {
			n := 0
			for _, file := range cycle {
				n += lines[file]
			}
			out[room(p)] = max(out[room(p)], n)
		}
	}
	return out
}

// uses returns which files of a package use what others of them declare, fields and methods included.
func (t *Tree) uses(p *packages.Package) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	file := func(pos token.Pos) string { return t.rel(t.Fset.Position(pos).Filename) }
	add := func(id *ast.Ident, obj types.Object) {
		if obj == nil || obj.Pkg() != p.Types || !obj.Pos().IsValid() {
			return
		}
		from, to := file(id.Pos()), file(obj.Pos())
		if out[from] == nil {
			out[from] = map[string]bool{}
		}
		if from != to {
			out[from][to] = true
		}
	}
	if p.TypesInfo == nil {
		return out
	}
	for id, obj := range p.TypesInfo.Uses { // order-free: a set is filled
		add(id, obj)
	}
	return out
}

// cycles returns the sets of more than one node of a graph in which each reaches each.
func cycles(graph map[string]map[string]bool) [][]string {
	reach := map[string]map[string]bool{}
	var visit func(from, at string)
	visit = func(from, at string) {
		for next := range graph[at] { // order-free: a set is filled
			if !reach[from][next] {
				reach[from][next] = true
				visit(from, next)
			}
		}
	}
	nodes := slices.Sorted(maps.Keys(graph))
	for _, n := range nodes {
		reach[n] = map[string]bool{}
		visit(n, n)
	}
	var out [][]string
	seen := map[string]bool{}
	for _, n := range nodes {
		set := []string{n}
		for _, m := range nodes {
			if m != n && reach[n][m] && reach[m][n] {
				set = append(set, m)
			}
		}
		if len(set) > 1 && !seen[n] {
			out = append(out, set)
		}
		for _, m := range set {
			seen[m] = true
		}
	}
	return out
}
