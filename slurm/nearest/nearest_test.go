package nearest

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	t.Parallel()
	known := []string{"nodes", "nodelist", "ntasks", "time"}
	for _, v := range []struct {
		word string
		most int
		want string
	}{
		{"nodes", 0, "nodes"},
		{"NODES", 0, "nodes"},
		{"node", 1, "nodes"},
		{"ndoelist", 2, "nodelist"},
		{"tme", 1, "time"},
		{"tme", 0, ""},
		{"partition", 3, ""},
		{strings.Repeat("n", 100), 99, "nodes"},
		{"", 4, "time"},
		{"", 3, ""},
	} {
		if got := Word(v.word, known, v.most); got != v.want {
			t.Errorf("%.20q, at most %d: %q, want %q", v.word, v.most, got, v.want)
		}
	}
}
