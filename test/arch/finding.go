package arch

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// Finding is one place that breaks a law.
type Finding struct {
	File string // slash path from the repository's root
	Line int    // 1-based; 0 when the finding is about the whole file or folder
	What string // what was found
	Do   string // the remedy
}

// place returns the finding's file and line in the form that editors and terminals link.
func (f Finding) place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// sorted orders findings by place and drops repetitions: a file that belongs to a package and to
// its test variant is seen twice.
func sorted(fs []Finding) []Finding {
	slices.SortFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(fs)
}

// at returns a finding at a position of the tree.
func (t *Tree) at(pos token.Pos, do, format string, args ...any) Finding {
	p := t.Fset.Position(pos)
	return Finding{File: t.rel(p.Filename), Line: p.Line, What: fmt.Sprintf(format, args...), Do: do}
}
