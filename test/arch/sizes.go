package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"unicode/utf8"
)

// Sizes that a file and a function seldom exceed. Most code is far below: a file of 130 lines and a function of 10 are typical. What is
// larger is reported, and no fault: a subject that is larger than the size is worse when it is cut.
const (
	usualFileLines = 400
	usualFuncLines = 60
)

// maxLine bounds the characters of a line, without what cannot be broken.
const maxLine = 140

// reportSizes measures files and functions.
func reportSizes(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		if n := bytes.Count(f.Src, []byte("\n")); n > usualFileLines {
			fs = append(fs, Finding{
				File: f.Path, Line: usualFileLines + 1, Do: "split it if it has two subjects",
				What: fmt.Sprintf("the file has %d lines, usual are up to %d", n, usualFileLines),
			})
		}
		for _, d := range f.AST.Decls {
			fs = append(fs, t.measureFuncs(d)...)
		}
	}
	return sorted(fs)
}

// fixed matches what cannot be broken within a line: text in quotes, and comments to a law or a linter, which stand on the line that they
// are about.
var fixed = regexp.MustCompile("//nolint.*|// order-free:.*|\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`") //nolint:gochecknoglobals // compiled once

// checkLines measures lines.
func checkLines(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		raw := rawLines(t.Fset, f.AST)
		for i, line := range bytes.Split(f.Src, []byte("\n")) {
			if len(line) <= maxLine || raw[i+1] {
				continue
			}
			if n := utf8.RuneCount(fixed.ReplaceAll(line, nil)); n > maxLine {
				fs = append(fs, Finding{
					File: f.Path, Line: i + 1, Do: "break it, or name a part of it",
					What: fmt.Sprintf("the line has %d characters of %d, without quotes", n, maxLine),
				})
			}
		}
	}
	return sorted(fs)
}

// rawLines returns the lines of a file that lie within a raw string of several lines.
func rawLines(set *token.FileSet, f *ast.File) map[int]bool {
	out := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
			for from, to := set.Position(lit.Pos()).Line, set.Position(lit.End()).Line; from < to; from++ {
				out[from], out[from+1] = true, true
			}
		}
		return true
	})
	return out
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
		if lines > usualFuncLines {
			fs = append(fs, t.at(funcStart(n), "split it if it has steps that each have a name",
				"%s has %d lines, usual are up to %d", name, lines, usualFuncLines))
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
