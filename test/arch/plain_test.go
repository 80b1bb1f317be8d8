package arch

import (
	"regexp"
	"testing"

	"golang.org/x/tools/txtar"
)

// The number of odd words may neither grow nor stay far above what is counted.
func TestOddWordsAreCounted(t *testing.T) {
	t.Parallel()
	tree := unpack(t, &txtar.Archive{Files: []txtar.File{
		{Name: "docs/a.md", Data: []byte("Odd, odd and oddly\n")},
		{Name: "node/a.go", Data: []byte("package node\n\n// An odd word.\n")},
		{Name: "node/testdata/a.txt", Data: []byte("odd\n")},
	}})
	for most, want := range map[int]int{0: 1, 2: 1, 3: 0, 5: 0, 6: 1, 100: 1} {
		got := checkPlainWords(tree, []oddWord{{regexp.MustCompile(`(?i)\bodd\b`), most, "even"}})
		if len(got) != want {
			t.Errorf("with at most %d of 3: %v", most, got)
		}
	}
}
