package arch

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
)

// checkImports checks every import against the edges that must never be.
func checkImports(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		for _, spec := range f.AST.Imports {
			what, do := judgeImport(f, spec)
			if what != "" {
				fs = append(fs, t.at(spec.Pos(), do, "%s", what))
			}
		}
	}
	return sorted(fs)
}

// judgeImport returns what is wrong with one import, or "".
func judgeImport(f *File, spec *ast.ImportSpec) (what, do string) {
	imported := importPath(spec)
	switch {
	case spec.Name != nil && spec.Name.Name == ".":
		return "a dot import of " + imported, "name the package where it is used, so that the reader and the laws can tell"
	case imported == Module || strings.HasPrefix(imported, Module+"/"):
		return judgeEdge(f, inModule(imported))
	default:
		return judgeLibrary(f, imported)
	}
}

// judgeEdge checks an import of one package of this repository by another.
func judgeEdge(f *File, imported string) (what, do string) {
	what = fmt.Sprintf("%s imports %s", f.Dir, imported)
	switch {
	case below(f.Dir, "test"), f.Test && !below(imported, "cmd"): // a test may compare two packages that know one rule
		return "", ""
	case below(imported, "test"):
		return what + ": no package of the product imports test/", "move what is shared into a package of its own"
	case forTests(imported):
		if forTests(f.Dir) {
			return "", ""
		}
		return what + " outside a test", "do without the package for tests, or move this code into a _test.go file"
	case below(imported, "cmd") && !below(f.Dir, "cmd"):
		return what + ": programs are made of packages, and not the other way round", "move what is shared into a package outside of cmd"
	}
	for _, e := range Edges() {
		if within(f.Dir, e.From) && !within(imported, e.But) && (e.Never == nil || within(imported, e.Never)) {
			return what + ", which no package below " + strings.Join(e.From, " or ") + " may", e.Why
		}
	}
	return "", ""
}

// judgeLibrary checks an import from outside the repository.
func judgeLibrary(f *File, imported string) (what, do string) {
	for _, lib := range Libraries() {
		if below(imported, lib.Prefix) && !lib.holds(f.Dir, f.Test) {
			return fmt.Sprintf("%s imports %s; only these may: %s", f.Dir, imported, orNothing(lib.Rooms)), lib.Why
		}
	}
	return "", ""
}

// importPath returns the path inside an import's quotes.
func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

// localNames returns the names under which a file uses an imported package.
func localNames(f *ast.File, imported string) []string {
	var names []string
	for _, spec := range f.Imports {
		switch {
		case importPath(spec) != imported:
		case spec.Name != nil:
			names = append(names, spec.Name.Name)
		default:
			names = append(names, baseName(imported))
		}
	}
	return names
}

// baseName guesses a package's name from its path: the last part, or the one
// before it when that is a version such as v2.
func baseName(imported string) string {
	parts := strings.Split(imported, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		return parts[len(parts)-2]
	}
	return last
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " ")
}
