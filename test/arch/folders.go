package arch

import (
	"slices"
	"strings"
)

// checkFolders looks at the folders of the root.
func checkFolders(t *Tree) []Finding {
	var fs []Finding
	for _, p := range t.Paths {
		top, _, nested := strings.Cut(p, "/")
		if nested && !strings.HasPrefix(top, ".") && !slices.Contains(TopFolders(), top) {
			fs = append(fs, Finding{
				File: top, What: "a new folder at the repository's root",
				Do: "put it below one of: " + strings.Join(TopFolders(), " "),
			})
		}
	}
	return sorted(fs)
}
