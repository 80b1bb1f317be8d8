package arch

import (
	"slices"
	"strings"
)

// checkRooms looks at the folders themselves.
func checkRooms(t *Tree) []Finding {
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
	for _, f := range t.Files {
		if _, ok := roomOf(f.Dir); !ok {
			fs = append(fs, Finding{
				File: f.Dir, What: "this folder holds Go files and has no room",
				Do: "give it a room in test/arch/rooms.go: a level, what it may import, and why that is enough; or move the code into a room that exists",
			})
		}
	}
	return sorted(fs)
}
