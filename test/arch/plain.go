package arch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// oddWord is a word that the texts of this repository avoid, and how often it may still occur.
type oddWord struct {
	pattern *regexp.Regexp
	most    int
	better  string
}

// oddWords lists words that readers of technical English stumble over: they turn programs into persons, or
// are out of use. The numbers may only shrink.
func oddWords() []oddWord {
	// Brackets keep a pattern from finding itself.
	return []oddWord{
		{regexp.MustCompile(`(?i)\bnobod[y]\b`), 34, "name what is absent: no user, no peer, no caller"},
		{regexp.MustCompile(`(?i)\bsomebod[y]\b`), 13, "name the user, the peer or the caller"},
		{regexp.MustCompile(`(?i)\bwho[m]\b`), 2, "name the user, the peer or the caller"},
		{regexp.MustCompile(`(?i)\bwhoeve[r]\b`), 4, "name the user, the peer or the caller"},
		{regexp.MustCompile(`(?i)\bwh[o]\b`), 218, "name the user, the peer or the caller, or write which or that"},
		{regexp.MustCompile(`(?i)\bane[w]\b`), 4, "again"},
		{regexp.MustCompile(`(?i)\bbesid[e]\b`), 27, "next to, in addition to, together with"},
	}
}

// checkPlainWords counts the odd words of the whole repository. A number that is more than a twentieth above
// what is counted has to be lowered, so that it follows the texts.
func checkPlainWords(t *Tree, words []oddWord) []Finding {
	counts := make([]int, len(words))
	for _, p := range t.Paths {
		if unread(p) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(t.Root, filepath.FromSlash(p)))
		if err != nil || isBinary(text) || bytes.Contains([]byte(p), []byte("testdata/")) {
			continue
		}
		for i, w := range words {
			counts[i] += len(w.pattern.FindAllIndex(text, -1))
		}
	}
	var fs []Finding
	for i, w := range words {
		switch n := counts[i]; {
		case n > w.most:
			fs = append(fs, Finding{File: ".", Do: w.better, What: fmt.Sprintf("%s occurs %d times of %d", w.pattern, n, w.most)})
		case w.most > n+n/20+2:
			fs = append(fs, Finding{
				File: "test/arch/plain.go", Do: "lower the number in oddWords",
				What: fmt.Sprintf("%s may occur %d times and occurs %d times", w.pattern, w.most, n),
			})
		}
	}
	return fs
}
