package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
)

// The largest sizes. Most code is far below: a file of 130 lines and a function
// of 10 are typical.
const (
	maxFileLines = 400
	maxFuncLines = 60
	maxInterface = 5
)

// checkSizes measures files, functions and interfaces.
func checkSizes(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		if n := bytes.Count(f.Src, []byte("\n")); n > maxFileLines {
			fs = append(fs, Finding{
				File: f.Path, Line: maxFileLines + 1, Do: "split it where it has two subjects",
				What: fmt.Sprintf("the file has %d lines of %d", n, maxFileLines),
			})
		}
		for _, d := range f.AST.Decls {
			fs = append(fs, t.measureFuncs(d)...)
			fs = append(fs, t.measureInterfaces(f, d)...)
		}
	}
	return sorted(fs)
}

// measureFuncs measures a function, or the literals in a variable's value.
func (t *Tree) measureFuncs(d ast.Decl) []Finding {
	var fs []Finding
	ast.Inspect(d, func(n ast.Node) bool {
		name := "a function literal"
		switch n := n.(type) {
		case *ast.FuncDecl:
			name = n.Name.Name
		case *ast.FuncLit:
		default:
			return true
		}
		lines := t.Fset.Position(n.End()).Line - t.Fset.Position(funcStart(n)).Line + 1
		if lines > maxFuncLines {
			fs = append(fs, t.at(funcStart(n), "split it into steps that each have a name",
				"%s has %d lines of %d", name, lines, maxFuncLines))
		}
		return false // a literal inside counts for its function
	})
	return fs
}

// funcStart returns where the keyword func stands, below the doc comment.
func funcStart(n ast.Node) token.Pos {
	if d, ok := n.(*ast.FuncDecl); ok {
		return d.Type.Pos()
	}
	return n.Pos()
}

// measureInterfaces measures the interfaces that a declaration of a product file names.
func (t *Tree) measureInterfaces(f *File, d ast.Decl) []Finding {
	decl, ok := d.(*ast.GenDecl)
	if !ok || f.Test || below(f.Dir, "test") {
		return nil
	}
	var fs []Finding
	for _, spec := range decl.Specs {
		named, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		typ, ok := named.Type.(*ast.InterfaceType)
		if !ok {
			continue
		}
		if n := countMethods(typ); n > maxInterface {
			fs = append(fs, t.at(named.Pos(), "declare, where it is used, only what is used there",
				"the interface %s has %d methods of %d", named.Name.Name, n, maxInterface))
		}
	}
	return fs
}

// countMethods counts the methods that an interface names itself.
func countMethods(i *ast.InterfaceType) int {
	n := 0
	for _, f := range i.Methods.List {
		n += len(f.Names)
	}
	return n
}
