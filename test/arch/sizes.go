package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// The largest sizes. Most code is far below: a file of 130 lines and a function
// of 10 are typical.
const (
	maxFileLines = 400
	maxFuncLines = 60
	maxMethods   = 20
	maxFields    = 12
	maxInterface = 5
)

// checkSizes measures files, functions and types.
func checkSizes(t *Tree) []Finding {
	var fs []Finding
	types := make(map[typeName]*typeSize)
	for _, f := range t.Files {
		if n := bytes.Count(f.Src, []byte("\n")); n > maxFileLines {
			fs = append(fs, Finding{
				File: f.Path, Line: maxFileLines + 1, Do: "split it where it has two subjects",
				What: fmt.Sprintf("the file has %d lines of %d", n, maxFileLines),
			})
		}
		for _, d := range f.AST.Decls {
			fs = append(fs, t.measureFuncs(d)...)
			collectType(types, f, d)
		}
	}
	for name, size := range types {
		fs = append(fs, t.measureType(name, size)...)
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

// funcStart is where the keyword func stands, below the doc comment.
func funcStart(n ast.Node) token.Pos {
	if d, ok := n.(*ast.FuncDecl); ok {
		return d.Type.Pos()
	}
	return n.Pos()
}

// typeName is a type of one package.
type typeName struct{ dir, pkg, name string }

// typeSize is what a type's declarations in several files add up to.
type typeSize struct {
	pos       token.Pos
	fields    int
	abstract  int // methods of an interface
	methods   int
	acting    bool // one of the methods does more than describe the value
	declTests bool // declared in a test
}

// collectType adds a declaration to the sizes of the types it speaks of.
func collectType(types map[typeName]*typeSize, f *File, d ast.Decl) {
	size := func(name string) *typeSize {
		key := typeName{f.Dir, f.AST.Name.Name, name}
		if types[key] == nil {
			types[key] = &typeSize{}
		}
		return types[key]
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return
		}
		s := size(receiver(d))
		s.methods++
		s.acting = s.acting || !describes(d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			decl, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			s := size(decl.Name.Name)
			s.pos, s.declTests = decl.Pos(), f.Test
			switch typ := decl.Type.(type) {
			case *ast.StructType:
				s.fields = countNames(typ.Fields)
			case *ast.InterfaceType:
				s.abstract = countMethods(typ)
			}
		}
	}
}

// dataRooms lists the packages whose structs are nouns and messages: as wide as
// what they describe.
func dataRooms() []string { return []string{"fsm/model", "fsm/command", "httpapi/wire"} }

// measureType holds a type's sizes against the limits.
func (t *Tree) measureType(name typeName, s *typeSize) []Finding {
	var fs []Finding
	noun := slices.Contains(dataRooms(), name.dir)
	if !s.pos.IsValid() {
		return nil
	}
	if s.methods > maxMethods && !below(name.dir, "test/sim") { // a model of everything does everything
		fs = append(fs, t.at(s.pos, "move a group of methods to a type of their own",
			"%s has %d methods of %d", name.name, s.methods, maxMethods))
	}
	if s.fields > maxFields && s.acting && !noun && !below(name.dir, "test/sim") {
		fs = append(fs, t.at(s.pos, "group fields that change together into a struct with a name",
			"%s acts and has %d fields of %d", name.name, s.fields, maxFields))
	}
	if s.abstract > maxInterface && !s.declTests && !below(name.dir, "test") {
		fs = append(fs, t.at(s.pos, "declare, where it is used, only what is used there",
			"the interface %s has %d methods of %d", name.name, s.abstract, maxInterface))
	}
	return fs
}

// describes reports whether a method of that name only tells about a value, as
// those that printing, encoding and comparing ask for.
func describes(method string) bool {
	switch method {
	case "String", "GoString", "Error", "Is", "As", "Unwrap", "Equal", "Compare", "IsZero", "LogValue", "Validate":
		return true
	}
	return strings.HasPrefix(method, "Marshal") || strings.HasPrefix(method, "Unmarshal")
}

// receiver names the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// countNames counts the fields of a struct, an embedded one as one.
func countNames(list *ast.FieldList) int {
	n := 0
	for _, f := range list.List {
		n += max(1, len(f.Names))
	}
	return n
}

// countMethods counts the methods that an interface names itself.
func countMethods(i *ast.InterfaceType) int {
	n := 0
	for _, f := range i.Methods.List {
		n += len(f.Names)
	}
	return n
}
