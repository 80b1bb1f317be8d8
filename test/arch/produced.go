package arch

import (
	"go/ast"
	"go/token"
	"strings"
)

// checkProduced looks for kinds of events that no change of the state announces, and for kinds of commands that no
// program proposes.
func checkProduced(t *Tree) []Finding {
	announced, proposed := map[string]bool{}, map[string]bool{}
	for _, f := range t.Files {
		switch dir := f.Dir + "/"; {
		case f.Test || strings.HasPrefix(dir, "test/"):
		case strings.HasPrefix(dir, "fsm/state/"):
			addSelected(f, "model", announced)
		case !strings.HasPrefix(dir, "fsm/"):
			addSelected(f, "command", proposed)
		}
	}
	var fs []Finding
	for _, f := range t.Files {
		for _, name := range constants(f, "fsm/model", "NoticeKind") {
			if !announced[name.Name] {
				fs = append(fs, t.at(name.Pos(), "announce it in fsm/state, or delete it with its row in docs/notifications.md",
					"no change of the state announces %s", name.Name))
			}
		}
		for _, name := range constants(f, "fsm/command", "Kind") {
			if body := strings.TrimPrefix(name.Name, "Kind"); !proposed[body] {
				fs = append(fs, t.at(name.Pos(), "propose it, or delete it with what carries it out", "no program proposes command.%s", body))
			}
		}
	}
	return sorted(fs)
}

// addSelected adds the names of a package that a file uses.
func addSelected(f *File, pkg string, to map[string]bool) {
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if sel, is := n.(*ast.SelectorExpr); is {
			if x, is := sel.X.(*ast.Ident); is && x.Name == pkg {
				to[sel.Sel.Name] = true
			}
		}
		return true
	})
}

// constants returns the names of a file's constants of a type, if the file is in that folder and no test.
func constants(f *File, dir, typ string) (out []*ast.Ident) {
	if f.Dir != dir || f.Test {
		return nil
	}
	for _, d := range f.AST.Decls {
		decl, is := d.(*ast.GenDecl)
		if !is || decl.Tok != token.CONST {
			continue
		}
		for _, s := range decl.Specs {
			spec, is := s.(*ast.ValueSpec)
			if !is {
				continue
			}
			if id, is := spec.Type.(*ast.Ident); is && id.Name == typ {
				out = append(out, spec.Names...)
			}
		}
	}
	return out
}
