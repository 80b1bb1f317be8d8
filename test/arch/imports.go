package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// statetest builds states for tests; production code may not import it.
const statetest = "fsm/state/statetest"

// checkImports checks every import against the table of rooms.
func checkImports(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		r, ok := roomOf(f.Dir)
		if !ok {
			continue // the law "rooms" reports this
		}
		for _, spec := range f.AST.Imports {
			what, do := judgeImport(r, f, spec)
			if what != "" {
				fs = append(fs, t.at(spec.Pos(), do, "%s", what))
			}
		}
	}
	return sorted(fs)
}

// judgeImport returns what is wrong with one import, or "".
func judgeImport(r Room, f *File, spec *ast.ImportSpec) (what, do string) {
	imported := importPath(spec)
	switch {
	case spec.Name != nil && spec.Name.Name == ".":
		return "a dot import of " + imported, "name the package where it is used, so that the reader and the laws can tell"
	case imported == Module || strings.HasPrefix(imported, Module+"/"):
		return judgeRoom(r, f, inModule(imported))
	default:
		return judgeLibrary(r, f, imported)
	}
}

// judgeRoom checks an import of one room by another.
func judgeRoom(r Room, f *File, imported string) (what, do string) {
	target, known := roomOf(imported)
	what = fmt.Sprintf("%s imports %s", r.Path, imported)
	switch {
	case !known:
		return what + ", which has no room", "give the imported folder a room in test/arch/rooms.go"
	case below(r.Path, "test"):
		return "", ""
	case f.Test && (below(target.Path, "test/sim") || target.Path == "test/childtest" || target.Path == "test/imagetest" || target.Path == "test/oidctest"):
		return "", "" // simulated networks and disks, programs as child processes, small images and an identity provider are made to test rooms with
	case target.Level == TestLevel:
		return what + ": no package imports test/", "move what is shared into a room of its own"
	case f.Test:
		return judgeTest(r, target, what)
	case imported == statetest:
		return what + " outside a test", "build states by commands, or move this code into a _test.go file"
	case target.Level >= r.Level:
		return fmt.Sprintf("%s, upwards or sideways: level %d to level %d", what, r.Level, target.Level),
			"declare a small interface of what is needed here and let the room above plug it in"
	case !r.Any && !slices.Contains(r.May, imported):
		return fmt.Sprintf("%s; it may import: %s", what, orNothing(r.May)),
			"pass in what is needed as a value or a small interface; widen test/arch/rooms.go only if the room's sentence in docs changes"
	}
	return "", ""
}

// judgeTest checks an import by a room's test, which may import itself, the rooms in its folder,
// statetest and all rooms below.
func judgeTest(r, target Room, what string) (problem, do string) {
	if below(target.Path, r.Path) || target.Path == statetest || target.Level < r.Level {
		return "", ""
	}
	return fmt.Sprintf("%s, upwards or sideways, in a test: level %d to level %d", what, r.Level, target.Level),
		"test the two rooms together below test/, or use a fake of the other one"
}

// judgeLibrary checks an import from outside the repository.
func judgeLibrary(r Room, f *File, imported string) (what, do string) {
	domain, _, _ := strings.Cut(imported, "/")
	if r.Bare && !f.Test && strings.Contains(domain, ".") {
		return fmt.Sprintf("%s imports %s; it may import the standard library only", r.Path, imported),
			"move the code that needs it into the room above"
	}
	for _, lib := range Libraries() {
		if below(imported, lib.Prefix) && !lib.holds(r.Path, f.Test) {
			return fmt.Sprintf("%s imports %s; only these may: %s", r.Path, imported, orNothing(lib.Rooms)), lib.Why
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
