package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

const (
	rowMarker = "//berth:row"
	rowRemedy = "make it a plain value: a string, a fixed array, or a table of its own with one row an element"
	tagRemedy = "keep cbor tags only; give httpapi/wire a type of its own with the JSON names"
)

// rowFolder is the folder of the packages with the rows of the state's tables.
const rowFolder = "fsm/model"

// rows returns the packages with the rows of the state's tables.
func (t *Tree) rows() []string {
	var out []string
	for _, f := range t.Files {
		if below(f.Dir, rowFolder) && !slices.Contains(out, f.Dir) {
			out = append(out, f.Dir)
		}
	}
	return out
}

// checkRows looks for anything shared inside the rows of the state's tables: the types marked as
// rows below [rowFolder] and every type that fsm/state and fsm/state/tx put in a table.
func checkRows(t *Tree) []Finding {
	var fs []Finding
	for p := range t.typedIn(t.rows()...) {
		for _, spec := range marked(p, rowMarker) {
			obj := p.TypesInfo.Defs[spec.Name]
			if obj == nil {
				continue
			}
			if what := shared(obj.Type(), nil); what != "" {
				fs = append(fs, t.at(spec.Pos(), rowRemedy, "the row %s holds %s", spec.Name.Name, what))
			}
		}
	}
	for p := range t.typedIn("fsm/state", "fsm/state/tx") {
		fs = append(fs, t.checkTables(p)...)
	}
	return sorted(fs)
}

// checkTables checks the key and row types of every table that a package names.
func (t *Tree) checkTables(p *packages.Package) []Finding {
	var fs []Finding
	for id, inst := range p.TypesInfo.Instances {
		if !isNamed(inst.Type, Module+"/fsm/state/table", "Table") {
			continue
		}
		for arg := range inst.TypeArgs.Types() {
			if what := shared(arg, nil); what != "" {
				fs = append(fs, t.at(id.Pos(), rowRemedy, "a table of %s, which holds %s",
					types.TypeString(arg, (*types.Package).Name), what))
			}
		}
	}
	return fs
}

// marked lists the type declarations that stand directly below a marker line.
func marked(p *packages.Package, marker string) []*ast.TypeSpec {
	var specs []*ast.TypeSpec
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, s := range decl.Specs {
				spec, ok := s.(*ast.TypeSpec)
				alone := !decl.Lparen.IsValid() && hasLine(decl.Doc, marker)
				if ok && (alone || hasLine(spec.Doc, marker)) {
					specs = append(specs, spec)
				}
			}
		}
	}
	return specs
}

// hasLine reports whether a comment has a line that is, or begins with, the marker.
func hasLine(doc *ast.CommentGroup, marker string) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return c.Text == marker || strings.HasPrefix(c.Text, marker+" ")
	})
}

// shared describes the first thing inside a type that two copies of a value
// would share, by its path from the value; "" when copies are independent.
func shared(t types.Type, above []types.Type) string {
	if slices.Contains(above, t) {
		return "" // a recursive type is judged where it recurs through
	}
	above = append(above, t)
	if isNamed(t, "time", "Time") {
		return "a time.Time, which points to its zone"
	}
	if isNamed(t, "unique", "Handle") {
		return "" // its pointer leads to a value that cannot be changed
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if what := shared(f.Type(), above); what != "" {
				return f.Name() + " → " + what
			}
		}
	case *types.Array:
		return shared(u.Elem(), above)
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return fmt.Sprintf("the %s %s", kindOf(u), types.TypeString(t, (*types.Package).Name))
	case *types.Interface:
		if _, ok := t.(*types.TypeParam); ok {
			return "" // judged where a real row stands in its place
		}
		return "the interface " + types.TypeString(t, (*types.Package).Name)
	}
	return ""
}

func kindOf(t types.Type) string {
	switch t.(type) {
	case *types.Pointer:
		return "pointer"
	case *types.Slice:
		return "slice"
	case *types.Map:
		return "map"
	case *types.Chan:
		return "channel"
	default:
		return "function"
	}
}

// checkTags looks for struct tags below [rowFolder] other than cbor's.
func checkTags(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		if !below(f.Dir, rowFolder) || f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			if what := judgeTag(field.Tag.Value); what != "" {
				fs = append(fs, t.at(field.Tag.Pos(), tagRemedy, "%s", what))
			}
			return true
		})
	}
	return sorted(fs)
}

// judgeTag returns what is wrong with a struct tag, or "".
func judgeTag(quoted string) string {
	tag, err := strconv.Unquote(quoted)
	if err != nil {
		return "an unreadable tag " + quoted
	}
	rest := strings.TrimSpace(tag)
	if value, ok := reflect.StructTag(rest).Lookup("cbor"); ok && rest == fmt.Sprintf("cbor:%q", value) {
		return ""
	}
	return "the tag " + quoted + " says more than cbor"
}
