package arch

import (
	"go/ast"
	"slices"
)

const (
	haltMarker  = "//berth:halt"
	panicRemedy = "return an error that says what, where and what to do; only a function marked " + haltMarker + " may stop the process"
	initRemedy  = "build the value in a function that the caller calls, or as a variable's value"
)

// checkExits looks for code that ends the process or runs before main.
func checkExits(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		mains := f.Test || below(f.Dir, "cmd") || below(f.Dir, "test")
		exits := exitSelectors(f.AST)
		for _, d := range f.AST.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if isFunc && fn.Recv == nil && fn.Name.Name == "init" {
				fs = append(fs, t.at(fn.Pos(), initRemedy, "an init function"))
			}
			if isFunc && hasLine(fn.Doc, haltMarker) {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" && !f.Test {
					fs = append(fs, t.at(n.Pos(), panicRemedy, "a panic"))
				}
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && !mains && slices.Contains(exits, qualified(sel)) {
					fs = append(fs, t.at(n.Pos(), panicRemedy, "%s outside cmd", qualified(sel)))
				}
				return true
			})
		}
	}
	return sorted(fs)
}

// exitSelectors lists the calls that end the process, as this file writes them.
func exitSelectors(f *ast.File) []string {
	out := localSelectors(f, "os", "Exit")
	for _, name := range []string{"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"} {
		out = append(out, localSelectors(f, "log", name)...)
	}
	return append(out, localSelectors(f, "syscall", "Exit")...)
}
