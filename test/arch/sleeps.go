package arch

import (
	"go/ast"
	"go/token"
	"slices"
)

const (
	bubbleMarker = "//berth:bubble"
	sleepRemedy  = "wait for the thing itself: a channel, a condition, a published index; or run the test inside synctest.Test, " +
		"where time is virtual (" + bubbleMarker + " marks a file whose functions all run there)"
)

// checkSleeps looks for tests that wait for real time to pass.
func checkSleeps(t *Tree) []Finding {
	bubbled := findBubbles(t)
	var fs []Finding
	for _, f := range t.Files {
		if !f.Test && !testCode(f.Dir) || inBubble(f.AST) {
			continue
		}
		w := sleepWalk{
			bubbled: bubbled[f.Dir],
			sleep:   localSelectors(f.AST, "time", "Sleep"),
			after:   localSelectors(f.AST, "time", "After"),
			bubble:  localSelectors(f.AST, "testing/synctest", "Test"),
			races:   make(map[ast.Node]bool),
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			what, deeper := w.judge(n)
			if what != "" {
				fs = append(fs, t.at(n.Pos(), sleepRemedy, "%s", what))
			}
			return deeper
		})
	}
	return sorted(fs)
}

// testCode reports whether the plain Go files of a folder help tests that run in
// real time: helpers, and what is below test/, but not the simulator, whose time is virtual, nor the benchmarks, which
// measure it.
func testCode(dir string) bool {
	return forTests(dir) || below(dir, "test") && !below(dir, "test/sim") && !below(dir, "test/bench")
}

// sleepWalk checks the nodes of one file, parents first.
type sleepWalk struct {
	bubbled              *bubbles
	sleep, after, bubble []string          // how this file writes time.Sleep, time.After, synctest.Test
	races                map[ast.Node]bool // cases of a select, where a time limit races with something
}

// judge returns what in a node waits for real time, or "", and whether to look inside it.
func (w *sleepWalk) judge(n ast.Node) (what string, deeper bool) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return "", n.Recv != nil || !slices.Contains(w.bubbled.run, n.Name.Name)
	case *ast.SelectStmt:
		for _, clause := range n.Body.List {
			if c, ok := clause.(*ast.CommClause); ok && len(n.Body.List) > 1 {
				w.races[c.Comm] = true
			}
		}
	case *ast.CallExpr:
		if isCall(n, w.sleep) {
			return "a time.Sleep", false
		}
		if id, ok := n.Fun.(*ast.Ident); ok && slices.Contains(w.bubbled.open, id.Name) {
			return "", false
		}
		return "", !isCall(n, w.bubble)
	case *ast.ExprStmt:
		wait, ok := n.X.(*ast.UnaryExpr)
		if ok && wait.Op == token.ARROW && isCall(wait.X, w.after) && !w.races[n] {
			return "a time.After that nothing cuts short, which is a sleep", false
		}
	}
	return "", true
}

// bubbles are the functions of one folder that run in a bubble or open one.
type bubbles struct {
	run  []string // handed to synctest.Test by name: they run inside
	open []string // call synctest.Test: the function literals handed to them run inside
}

// findBubbles collects the bubble functions of every folder.
func findBubbles(t *Tree) map[string]*bubbles {
	out := make(map[string]*bubbles)
	for _, f := range t.Files {
		b := out[f.Dir]
		if b == nil {
			b = &bubbles{}
			out[f.Dir] = b
		}
		test := localSelectors(f.AST, "testing/synctest", "Test")
		for _, d := range f.AST.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isCall(call, test) || len(call.Args) != 2 {
					return true
				}
				if id, ok := call.Args[1].(*ast.Ident); ok {
					b.run = append(b.run, id.Name)
				}
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					b.open = append(b.open, fn.Name.Name)
				}
				return true
			})
		}
	}
	return out
}

// inBubble reports whether a file is marked as running in a bubble.
func inBubble(f *ast.File) bool {
	return slices.ContainsFunc(f.Comments, func(g *ast.CommentGroup) bool { return hasLine(g, bubbleMarker) })
}

// localSelectors lists how a file may write the name of an imported package.
func localSelectors(f *ast.File, imported, name string) []string {
	var out []string
	for _, local := range localNames(f, imported) {
		out = append(out, local+"."+name)
	}
	return out
}

// isCall reports whether e calls one of the qualified names.
func isCall(e ast.Expr, names []string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, qualified(sel))
}
