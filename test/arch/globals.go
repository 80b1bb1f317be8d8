package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
)

const globalRemedy = "keep it in a value that is built at start and passed to the code that needs it"

// checkGlobals looks for package-level variables that change: set, pointed at, or made to be
// changed, such as a mutex. A variable that only names a value (an error, a regular expression, a
// table) is allowed.
func checkGlobals(t *Tree) []Finding {
	var fs []Finding
	for _, p := range t.Typed {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the main function that go test writes
		}
		g := &globalWalk{info: p.TypesInfo, flagged: make(map[ast.Node]bool)}
		for _, f := range p.Syntax {
			ast.Inspect(f, func(n ast.Node) bool {
				g.note(n)
				if name, how := g.judge(n); name != "" {
					fs = append(fs, t.at(n.Pos(), globalRemedy, "the package-level variable %s %s", name, how))
				}
				return true
			})
		}
		fs = append(fs, t.madeToChange(p)...)
	}
	return sorted(fs)
}

// madeToChange finds variables of types that are made to be changed.
func (t *Tree) madeToChange(p *packages.Package) []Finding {
	var fs []Finding
	scope := p.Types.Scope()
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		if !ok {
			continue
		}
		if what := changeable(v.Type()); what != "" {
			fs = append(fs, t.at(v.Pos(), globalRemedy, "the package-level variable %s is %s", name, what))
		}
	}
	return fs
}

// changeable describes a type whose values are made to be changed, or returns "".
func changeable(typ types.Type) string {
	if ptr, ok := typ.Underlying().(*types.Pointer); ok {
		typ = ptr.Elem()
	}
	if _, ok := typ.Underlying().(*types.Chan); ok {
		return "a channel"
	}
	n, ok := types.Unalias(typ).(*types.Named)
	if ok && n.Obj().Pkg() != nil && below(n.Obj().Pkg().Path(), "sync") {
		return fmt.Sprintf("a %s.%s", n.Obj().Pkg().Name(), n.Obj().Name())
	}
	return ""
}

// globalWalk judges the nodes of one package, parents first.
type globalWalk struct {
	info    *types.Info
	flagged map[ast.Node]bool // addresses that a flag is bound to
}

// note records the addresses passed to package flag: a command-line flag of a test is set once,
// before any test runs.
func (g *globalWalk) note(n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if f, ok := g.info.Uses[sel.Sel].(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() == "flag" {
		for _, arg := range call.Args {
			g.flagged[arg] = true
		}
	}
}

// judge returns which package-level variable a node changes, and how.
func (g *globalWalk) judge(n ast.Node) (name, how string) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, lhs := range n.Lhs {
			if name := g.global(lhs); name != "" && n.Tok != token.DEFINE {
				return name, "is set"
			}
		}
	case *ast.IncDecStmt:
		return g.global(n.X), "is set"
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return g.global(n.Key), "is set"
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND && !g.flagged[n] {
			return g.global(n.X), "has its address taken"
		}
	case *ast.CallExpr:
		return g.judgeCall(n)
	}
	return "", ""
}

// judgeCall finds the calls that change their operand: some builtins, and methods that take the
// variable's address implicitly.
func (g *globalWalk) judgeCall(call *ast.CallExpr) (name, how string) {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		_, builtin := g.info.Uses[fun].(*types.Builtin)
		if builtin && (fun.Name == "delete" || fun.Name == "clear" || fun.Name == "copy") {
			return g.global(call.Args[0]), "is changed by " + fun.Name
		}
	case *ast.SelectorExpr:
		s := g.info.Selections[fun]
		if s == nil || s.Kind() != types.MethodVal {
			return "", ""
		}
		method, ok := s.Obj().(*types.Func)
		if !ok || isPointer(s.Recv()) || !isPointer(method.Signature().Recv().Type()) {
			return "", ""
		}
		return g.global(fun.X), "is changed by its method " + fun.Sel.Name
	}
	return "", ""
}

// global returns the package-level variable, of any package, that an expression is or reaches into;
// "" when it starts from something else.
func (g *globalWalk) global(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if _, ok := g.info.Uses[id].(*types.PkgName); ok {
					return g.variable(x.Sel)
				}
			}
			e = x.X
		case *ast.Ident:
			return g.variable(x)
		default:
			return ""
		}
	}
}

// variable returns the package-level variable that an identifier uses, or "".
func (g *globalWalk) variable(id *ast.Ident) string {
	v, ok := g.info.Uses[id].(*types.Var)
	if !ok || v.Pkg() == nil || v.Pkg().Scope().Lookup(v.Name()) != v {
		return ""
	}
	return v.Pkg().Name() + "." + v.Name()
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}
