package arch

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// checkLinks follows the imports of the programs that must stay small, and finds each that leads to a package that they may not contain.
func checkLinks(t *Tree) []Finding {
	byFolder := map[string][]*File{}
	for _, f := range t.Files {
		if !f.Test {
			byFolder[f.Dir] = append(byFolder[f.Dir], f)
		}
	}
	var fs []Finding
	for _, l := range Links() {
		if len(byFolder[l.Program]) > 0 {
			fs = append(fs, t.follow(&l, byFolder)...)
		}
	}
	return sorted(fs)
}

// follow checks the imports of one program.
func (t *Tree) follow(l *Linked, byFolder map[string][]*File) []Finding {
	do := l.Why + ": move what is needed into a package without that import"
	var fs []Finding
	seen, todo := map[string]bool{l.Program: true}, []string{l.Program}
	for len(todo) > 0 {
		folder := todo[0]
		todo = todo[1:]
		for _, f := range byFolder[folder] {
			for _, spec := range f.AST.Imports {
				own, allowed := l.judge(spec)
				switch {
				case !allowed:
					fs = append(fs, t.at(spec.Pos(), do, "the program %s would contain %s, by this import of %s", path.Base(l.Program), importPath(spec), folder))
				case own != "" && !seen[own]:
					seen[own] = true
					todo = append(todo, own)
				}
			}
		}
	}
	for _, but := range l.But {
		there := len(byFolder[but]) > 0
		if there && !seen[but] {
			fs = append(fs, Finding{File: but, What: "the program " + path.Base(l.Program) + " does not contain this package any more", Do: "take it off the list in test/arch/edges.go"})
		}
	}
	return fs
}

// judge reports whether a program may contain what an import names, and returns the folder of a package of this repository.
func (l *Linked) judge(spec *ast.ImportSpec) (own string, allowed bool) {
	imported := importPath(spec)
	if folder, is := strings.CutPrefix(imported, Module+"/"); is {
		return folder, !within(folder, l.Never) || slices.Contains(l.But, folder)
	}
	domain, _, _ := strings.Cut(imported, "/")
	return "", l.Libraries == nil || !strings.Contains(domain, ".") && imported != "C" || slices.Contains(l.Libraries, imported)
}
