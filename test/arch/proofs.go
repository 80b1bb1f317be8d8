package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// shownBy is the head of the last column of a table whose every row names a test.
const shownBy = "shown by"

// proof is how a page names a test: its folder and its function, as `node.TestOpenRun`.
func proof() *regexp.Regexp { return regexp.MustCompile("`([a-z][\\w/-]*)\\.(Test[A-Z]\\w*)`") }

// checkProofs looks for tests that pages name and that cannot be run, and for promises in
// a table of proofs that have none.
func checkProofs(t *Tree) []Finding {
	tests := map[string]bool{}
	for _, f := range t.Files {
		for _, d := range f.AST.Decls {
			if fn, is := d.(*ast.FuncDecl); is && f.Test && fn.Recv == nil {
				tests[f.Dir+"."+fn.Name.Name] = true
			}
		}
	}
	var fs []Finding
	for _, p := range t.Paths {
		if path.Ext(p) != ".md" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(t.Root, filepath.FromSlash(p))); err == nil {
			fs = append(fs, judgePage(p, text, tests)...)
		}
	}
	return sorted(fs)
}

func judgePage(page string, text []byte, tests map[string]bool) (fs []Finding) {
	name, number, promises := proof(), 0, false
	for raw := range bytes.Lines(text) {
		number++
		line := strings.TrimSpace(string(raw))
		found := name.FindAllStringSubmatch(line, -1)
		for _, m := range found {
			if test := m[1] + "." + m[2]; !tests[test] {
				fs = append(fs, Finding{
					File: page, Line: number, What: fmt.Sprintf("the test %s is not there", test),
					Do: "name the test that shows it now, or write it",
				})
			}
		}
		head := strings.HasSuffix(line, "| "+shownBy+" |")
		row := strings.HasPrefix(line, "|") && strings.Trim(line, "|-: ") != ""
		if promises && row && !head && len(found) == 0 {
			fs = append(fs, Finding{
				File: page, Line: number, What: "a promise without a test: " + line,
				Do: "write a test that breaks what breaks, and name it in the last column as folder.TestName",
			})
		}
		promises = head || promises && strings.HasPrefix(line, "|")
	}
	return fs
}
