package arch

import "go/ast"

// checkSingle looks for goroutines in packages of which make test runs the tests without the race detector.
func checkSingle(t *Tree) []Finding {
	single := map[string]bool{}
	for _, f := range t.Files {
		if f.marks(singleMarker) || f.marks(pureMarker) {
			single[f.Dir] = true
		}
	}
	var fs []Finding
	for _, f := range t.Files {
		if f.Test || !single[f.Dir] {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			sel, is := n.(*ast.SelectorExpr)
			_, starts := n.(*ast.GoStmt)
			if starts || is && sel.Sel.Name == "Go" {
				fs = append(fs, t.at(n.Pos(), "take "+singleMarker+" out of the comment of the package", "%s starts a goroutine", f.Dir))
			}
			return true
		})
	}
	return sorted(fs)
}
