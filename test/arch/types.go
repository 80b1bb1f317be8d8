package arch

import (
	"go/types"
	"iter"
	"strings"

	"golang.org/x/tools/go/packages"
)

// maxErrors bounds the errors shown for one package: the first ones matter most.
const maxErrors = 5

// checkTypes reports what kept a package from being type-checked whole.
func checkTypes(t *Tree) []Finding {
	var fs []Finding
	for _, p := range t.Typed {
		for _, e := range p.Errors[:min(len(p.Errors), maxErrors)] {
			if e.Kind == packages.ListError && len(p.TypeErrors) > 0 {
				continue // the compiler's account of the same errors
			}
			file, line := t.position(e, p)
			fs = append(fs, Finding{
				File: file, Line: line, What: e.Msg,
				Do: "make `go build ./... && go vet ./...` pass, then run the laws again",
			})
		}
	}
	return sorted(fs)
}

// position splits the "file:line:column" of a package's error.
func (t *Tree) position(e packages.Error, p *packages.Package) (file string, line int) {
	file, rest, ok := strings.Cut(e.Pos, ":")
	if !ok || file == "" {
		return p.PkgPath, 0
	}
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		line = line*10 + int(c-'0')
	}
	return t.rel(file), line
}

// room returns a package's folder from the root: its import path without the module. A package's
// external tests belong to the package's room.
func room(p *packages.Package) string {
	return strings.TrimSuffix(inModule(p.PkgPath), "_test")
}

// inModule cuts the module from an import path; a foreign path becomes "".
func inModule(importPath string) string {
	rest, ok := strings.CutPrefix(importPath, Module+"/")
	if !ok {
		return ""
	}
	return rest
}

// typedIn yields the type-checked packages of the given rooms, without test variants.
func (t *Tree) typedIn(rooms ...string) iter.Seq[*packages.Package] {
	return func(yield func(*packages.Package) bool) {
		for _, p := range t.Typed {
			if p.ForTest != "" || strings.HasSuffix(p.ID, ".test") {
				continue
			}
			for _, r := range rooms {
				if room(p) == r && !yield(p) {
					return
				}
			}
		}
	}
}

// isNamed reports whether typ is the named type, or an instance of the generic type, of the package
// at pkgPath under that name.
func isNamed(typ types.Type, pkgPath, name string) bool {
	n, ok := types.Unalias(typ).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkgPath && n.Obj().Name() == name
}
