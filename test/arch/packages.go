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

// packageSize is the size of a package without test files.
type packageSize struct {
	files int
	lines int
	names int // constants, variables, types and functions at package level
	cycle int // lines of the largest set of files that depend on one another in a cycle
}

// packageLimit is the largest size of a package that is not listed in oversized.
func packageLimit() packageSize {
	return packageSize{files: 25, lines: 4000, names: 200, cycle: 2000}
}

// oversized lists the packages that are larger than packageLimit, with the sizes that they may have until
// they are divided: 0 stands for the limit. The sizes may only shrink.
func oversized() map[string]packageSize {
	return map[string]packageSize{
		"cluster":             {cycle: 2550},
		"fsm/model":           {files: 40, lines: 5500, names: 587, cycle: 3100},
		"httpapi/wire":        {names: 215},
		"node":                {cycle: 2600},
		"node/runner/process": {files: 33, cycle: 3000},
		"test/sim":            {files: 27, lines: 4800, cycle: 3950},
	}
}

// sizeMeasure names one of the sizes of a package.
type sizeMeasure struct {
	what string
	of   func(packageSize) int
}

func measures() []sizeMeasure {
	return []sizeMeasure{
		{"files", func(s packageSize) int { return s.files }},
		{"lines", func(s packageSize) int { return s.lines }},
		{"package-level names", func(s packageSize) int { return s.names }},
		{"lines in files that depend on one another in a cycle", func(s packageSize) int { return s.cycle }},
	}
}

// checkPackages measures packages.
func checkPackages(t *Tree) []Finding {
	var fs []Finding
	listed := oversized()
	for dir, size := range t.packageSizes() { // order-free: findings are sorted
		fs = append(fs, judgeSize(dir, size, listed)...)
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

// judgeSize compares the size of a package with the limit, or with the size that it may have until it is
// divided. The latter may be at most a twentieth above what is measured, so that it shrinks with the package.
func judgeSize(dir string, size packageSize, listed map[string]packageSize) []Finding {
	var fs []Finding
	for _, m := range measures() {
		limit, allowed, n := m.of(packageLimit()), m.of(listed[dir]), m.of(size)
		switch {
		case n > max(limit, allowed):
			fs = append(fs, Finding{
				File: dir, Do: "divide the package by subject; a dependency between the parts points one way",
				What: fmt.Sprintf("the package has %d %s of %d", n, m.what, max(limit, allowed)),
			})
		case allowed > limit && allowed > n+n/20, allowed > 0 && allowed <= limit:
			fs = append(fs, Finding{
				File: "test/arch/packages.go", Do: "lower the entry of the package, or remove what is within the limit",
				What: fmt.Sprintf("%s may have %d %s and has %d (limit %d)", dir, allowed, m.what, n, limit),
			})
		}
	}
	return fs
}

// packageSizes measures every package by its folder.
func (t *Tree) packageSizes() map[string]packageSize {
	out := map[string]packageSize{}
	lines := map[string]int{}
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		lines[f.Path] = bytes.Count(f.Src, []byte("\n"))
		size := out[f.Dir]
		size.files++
		size.lines += lines[f.Path]
		size.names += countNames(f.AST)
		out[f.Dir] = size
	}
	for _, p := range t.Typed {
		size, known := out[room(p)]
		if !known || p.ForTest != "" {
			continue
		}
		for _, cycle := range cycles(t.uses(p)) {
			n := 0
			for _, file := range cycle {
				n += lines[file]
			}
			size.cycle = max(size.cycle, n)
		}
		out[room(p)] = size
	}
	return out
}

// countNames returns how many names a file declares at package level.
func countNames(f *ast.File) int {
	n := 0
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				n++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					n++
				case *ast.ValueSpec:
					n += len(spec.Names)
				}
			}
		}
	}
	return n
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
