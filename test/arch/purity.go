package arch

import (
	"go/ast"
	"go/token"
	"slices"
)

// Markers in the comment of a package, below its text.
const (
	pureMarker   = "//berth:pure"   // its functions depend on their arguments alone
	singleMarker = "//berth:single" // it starts no goroutine; of pure packages this is clear
)

// marks reports whether a file carries a marker in the comment of its package.
func (f *File) marks(marker string) bool {
	return f.AST.Doc != nil && slices.ContainsFunc(f.AST.Doc.List, func(c *ast.Comment) bool { return c.Text == marker })
}

// pure returns the folders of the packages that are marked as pure.
func (t *Tree) pure() []string {
	var out []string
	for _, f := range t.Files {
		if f.marks(pureMarker) {
			out = append(out, f.Dir)
		}
	}
	return out
}

// Remedies of the law, by what was found.
const (
	takeNow     = "take the time as an argument: the caller reads the clock once, before the log"
	takeValue   = "resolve it before the log and take the value as an argument"
	noGoroutine = "return what is to be done; the caller runs it"
)

// impureImports maps import paths to their remedy. A path covers what lies below it.
func impureImports() map[string]string {
	return map[string]string{
		"math/rand": takeValue, "crypto/rand": takeValue, "hash/maphash": "use a hash without a random seed",
		"os": takeValue, "net": takeValue, "syscall": takeValue, "runtime": takeValue,
		"log": "return an error or a result; the caller logs", "sync": noGoroutine,
	}
}

// pureBelow lists packages below an impure one that hold only values.
func pureBelow() []string { return []string{"net/netip", "net/url"} }

// impureNames maps package paths to those of their names that read or wait for
// something outside the arguments.
func impureNames() map[string][]string {
	return map[string][]string{
		"time": {
			"Now", "Since", "Until", "After", "AfterFunc", "Tick", "Sleep", "NewTimer", "NewTicker",
			"Local", "LoadLocation",
		},
		"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"},
	}
}

// checkPurity looks for clocks, chance, goroutines and the outside world in pure packages.
func checkPurity(t *Tree) []Finding {
	var fs []Finding
	pure := t.pure()
	for _, f := range t.Files {
		if f.Test || !slices.Contains(pure, f.Dir) {
			continue
		}
		for _, spec := range f.AST.Imports {
			if do, impure := judgePure(importPath(spec)); impure {
				fs = append(fs, t.at(spec.Pos(), do, "%s is pure and imports %s", f.Dir, importPath(spec)))
			}
		}
		names := impureSelectors(f.AST)
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if what, do := judgeNode(n, names); what != "" {
				fs = append(fs, t.at(n.Pos(), do, "%s is pure and has %s", f.Dir, what))
			}
			return true
		})
	}
	return sorted(fs)
}

func judgePure(imported string) (do string, impure bool) {
	if slices.Contains(pureBelow(), imported) {
		return "", false
	}
	for prefix, do := range impureImports() {
		if below(imported, prefix) {
			return do, true
		}
	}
	return "", false
}

// impureSelectors lists the qualified names, as this file writes them, that it
// may not use.
func impureSelectors(f *ast.File) []string {
	var out []string
	for imported, names := range impureNames() {
		for _, local := range localNames(f, imported) {
			for _, name := range names {
				out = append(out, local+"."+name)
			}
		}
	}
	return out
}

// judgeNode returns what is impure in one node, or "".
func judgeNode(n ast.Node, selectors []string) (what, do string) {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine", noGoroutine
	case *ast.SelectStmt:
		return "a select", noGoroutine
	case *ast.ChanType:
		return "a channel", noGoroutine
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a receive", noGoroutine
		}
	case *ast.SelectorExpr:
		if name := qualified(n); slices.Contains(selectors, name) {
			return name, takeNow
		}
	}
	return "", ""
}

// qualified writes a selector on a plain name as "x.Sel"; any other is "".
func qualified(s *ast.SelectorExpr) string {
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + s.Sel.Name
}
