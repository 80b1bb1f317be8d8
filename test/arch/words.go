package arch

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// forbidden is one pattern and what to write instead.
type forbidden struct {
	pattern *regexp.Regexp
	what    string
	do      string
}

// forbiddenWords lists what no file of the repository may contain.
func forbiddenWords() []forbidden {
	const (
		reason = "write the reason itself, or cite something public"
		finish = "finish the work, or drop the remark"
	)
	// Brackets keep a pattern from finding itself.
	return []forbidden{
		{regexp.MustCompile(`(^|[^\w./-])/(wor[k]|home|Users)/`), "a path of one machine", "use a path inside the repository, or a setting"},
		{regexp.MustCompile(`\.\./shared\b`), "a path outside the repository", reason},
		{regexp.MustCompile(`\bD[0-9]{1,2}\b`), "a number from notes that the reader does not have", reason},
		{regexp.MustCompile(`\b(RELIABILITY|DECISIONS|LIBRARIES|SCHEDULING|USERS|STYLE)\.md\b`), "a page that is not in the repository", reason},
		{regexp.MustCompile(`\b(TO[D]O|FIX[M]E|X[X]X|HAC[K])\b`), "work left undone", finish},
	}
}

// checkWords reads every text file line by line.
func checkWords(t *Tree) []Finding {
	words := forbiddenWords()
	var fs []Finding
	for _, p := range t.Paths {
		if unread(p) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(t.Root, filepath.FromSlash(p)))
		if err != nil || isBinary(text) {
			continue // removed since it was listed, or without words
		}
		number := 0
		for line := range bytes.Lines(text) {
			number++
			for _, w := range words {
				if m := w.pattern.Find(line); m != nil {
					fs = append(fs, Finding{
						File: p, Line: number, Do: w.do,
						What: fmt.Sprintf("%q: %s", strings.TrimSpace(string(m)), w.what),
					})
				}
			}
		}
	}
	return sorted(fs)
}

// unread reports whether a file is not prose or code of ours: checksums, licences of libraries, and the words of
// this law itself.
func unread(p string) bool {
	return path.Ext(p) == ".sum" || p == "httpapi/dashboard/dist/licenses.txt" || p == "test/arch/words.go" || below(p, "test/arch/testdata")
}

// isBinary reports whether a file is binary by git's rule: a zero byte near the beginning.
func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0
}
