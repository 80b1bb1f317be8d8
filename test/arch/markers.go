package arch

import (
	"go/ast"
	"go/token"
	"strings"
)

// checkMarkers looks for markers that no law reads: misspelt, or not where the
// law looks for them.
func checkMarkers(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		rows, halts := docComments(f.AST)
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				word, _, _ := strings.Cut(c.Text, " ")
				if !strings.HasPrefix(word, "//berth:") {
					continue
				}
				if do := judgeMarker(word, f.Dir, rows[group], halts[group], group == f.AST.Doc && !f.Test); do != "" {
					fs = append(fs, t.at(c.Pos(), do, "%s marks nothing here", word))
				}
			}
		}
	}
	return sorted(fs)
}

// judgeMarker returns the remedy for a marker, or "" when it is in its place.
func judgeMarker(word, dir string, aboveType, aboveFunc, abovePackage bool) string {
	switch {
	case word == rowMarker && (!aboveType || !below(dir, rowFolder)):
		return "put it directly above a type of fsm/model, without an empty line"
	case word == haltMarker && !aboveFunc:
		return "put it directly above the function that ends the process, without an empty line"
	case (word == pureMarker || word == singleMarker) && !abovePackage:
		return "put it into the comment of the package, as its last line"
	case word == rowMarker, word == haltMarker, word == bubbleMarker, word == pureMarker, word == singleMarker:
		return ""
	}
	return "the markers are " + strings.Join([]string{rowMarker, haltMarker, bubbleMarker, pureMarker, singleMarker}, " ")
}

// docComments collects the comments that stand directly above the types and
// above the functions of a file.
func docComments(f *ast.File) (types, funcs map[*ast.CommentGroup]bool) {
	types, funcs = make(map[*ast.CommentGroup]bool), make(map[*ast.CommentGroup]bool)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			funcs[d.Doc] = true
		case *ast.GenDecl:
			if d.Tok != token.TYPE {
				continue
			}
			types[d.Doc] = !d.Lparen.IsValid()
			for _, s := range d.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && spec.Doc != nil {
					types[spec.Doc] = true
				}
			}
		}
	}
	return types, funcs
}
