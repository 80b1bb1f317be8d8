package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

const orderRemedy = "sort the keys first (slices.Sorted(maps.Keys(m))) or use an ordered table; " +
	"where the order cannot matter, say why: // order-free: <why>"

// checkMapOrder looks for walks over a map whose order could be seen, in pure packages: the order of anything there may reach the state,
// its digest or a plan.
func checkMapOrder(t *Tree) []Finding {
	var fs []Finding
	for p := range t.typedIn(t.pure()...) {
		for _, f := range p.Syntax {
			w := &mapWalk{info: p.TypesInfo, free: orderFreeLines(p, f)}
			ast.Inspect(f, func(n ast.Node) bool {
				if what := w.judge(n); what != "" && !w.excused(p, n) {
					fs = append(fs, t.at(n.Pos(), orderRemedy, "%s", what))
				}
				return true
			})
		}
	}
	return sorted(fs)
}

// mapWalk checks the nodes of one file, parents first.
type mapWalk struct {
	info   *types.Info
	free   []int      // lines that an order-free comment covers
	sorted []ast.Node // calls whose result is sorted, or put into a map, at once
}

// judge returns what in a node walks over a map, or "".
func (w *mapWalk) judge(n ast.Node) string {
	switch n := n.(type) {
	case *ast.RangeStmt:
		if isMap(w.info.TypeOf(n.X)) && !w.onlyFills(n) {
			return "a range over the map " + types.ExprString(n.X)
		}
	case *ast.CallExpr:
		switch name := w.called(n); name {
		case "slices.Sorted", "maps.Collect", "maps.Insert": // not SortedFunc: equal elements keep map order
			for _, arg := range n.Args {
				w.sorted = append(w.sorted, ast.Unparen(arg))
			}
		case "maps.Keys", "maps.Values", "maps.All":
			if !slices.Contains(w.sorted, ast.Node(n)) {
				return name + " in map order"
			}
		case "reflect.MapRange", "reflect.MapKeys":
			return name + " in map order"
		}
	}
	return ""
}

// called returns the function that a call calls: package path and name.
func (w *mapWalk) called(call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	obj := w.info.Uses[sel.Sel]
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

// onlyFills reports whether a range's body does nothing but set or delete the
// range's own key in maps, from expressions without calls: then every order
// gives the same maps.
func (w *mapWalk) onlyFills(r *ast.RangeStmt) bool {
	key, ok := r.Key.(*ast.Ident)
	if !ok || r.Tok != token.DEFINE || len(r.Body.List) == 0 {
		return false
	}
	for _, s := range r.Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.ASSIGN || len(s.Lhs) != 1 || !w.atKey(s.Lhs[0], key) || hasCall(s.Rhs[0]) {
				return false
			}
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok || !w.isBuiltin(call.Fun, "delete") || !w.sameObject(call.Args[1], key) || hasCall(call.Args[0]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// atKey reports whether e is m[key] for a map m.
func (w *mapWalk) atKey(e ast.Expr, key *ast.Ident) bool {
	index, ok := e.(*ast.IndexExpr)
	return ok && isMap(w.info.TypeOf(index.X)) && w.sameObject(index.Index, key)
}

func (w *mapWalk) sameObject(e ast.Expr, key *ast.Ident) bool {
	id, ok := e.(*ast.Ident)
	return ok && w.info.Defs[key] != nil && w.info.Uses[id] == w.info.Defs[key]
}

func (w *mapWalk) isBuiltin(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	if !ok || id.Name != name {
		return false
	}
	_, builtin := w.info.Uses[id].(*types.Builtin)
	return builtin
}

func hasCall(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		found = found || call
		return !found
	})
	return found
}

// excused reports whether an order-free comment covers the node's line.
func (w *mapWalk) excused(p *packages.Package, n ast.Node) bool {
	return slices.Contains(w.free, p.Fset.Position(n.Pos()).Line)
}

// orderFreeLines lists the lines that an order-free comment covers: its own and
// the next. A comment without a reason covers nothing.
func orderFreeLines(p *packages.Package, f *ast.File) []int {
	marker := regexp.MustCompile(`^// order-free: \S`)
	var lines []int
	for _, group := range f.Comments {
		for _, c := range group.List {
			if marker.MatchString(strings.TrimSpace(c.Text)) {
				end := p.Fset.Position(group.End()).Line
				lines = append(lines, p.Fset.Position(c.Pos()).Line, end, end+1)
			}
		}
	}
	return lines
}

// isMap reports whether ranging over a value of the type walks over a map: the
// type is one, or is a type parameter that a map may stand for.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface:
		for e := range u.EmbeddedTypes() {
			if isMap(e) {
				return true
			}
		}
	case *types.Union:
		for term := range u.Terms() {
			if isMap(term.Type()) {
				return true
			}
		}
	}
	return false
}
