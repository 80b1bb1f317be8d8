package table

import (
	"iter"
	"unsafe"
)

// Diff is the difference of a key's rows between two tables.
type Diff[R any] struct {
	Before, After R
	Was, Is       bool // there is a row before, and after
}

// Diffs yields, in key order, the keys whose rows were written on the way from one
// table to another that was forked from it, perhaps to what they had been before.
// It compares where rows lie and copies only those that it yields, so that it costs
// little more than a walk along both, and nothing if no row was written.
func Diffs[K Key[K], R any](before, after Table[K, R]) iter.Seq2[K, Diff[R]] {
	return func(yield func(K, Diff[R]) bool) {
		if before.tree == after.tree {
			return
		}
		was, is := before.items(), after.items()
		for len(was) > 0 || len(is) > 0 {
			k, d, same := step(&was, &is)
			if !same && !yield(k, d) {
				return
			}
		}
	}
}

// step takes the lowest key from two ordered lists, and reports whether its row is the same in both.
func step[K Key[K], R any](was, is *[]*item[K, R]) (k K, d Diff[R], same bool) {
	order := 0
	switch {
	case len(*is) == 0:
		order = -1
	case len(*was) == 0:
		order = 1
	case (*was)[0] != (*is)[0]:
		order = (*was)[0].key.Compare((*is)[0].key)
	default:
		*was, *is = (*was)[1:], (*is)[1:]
		return k, d, true
	}
	if order <= 0 {
		k, d.Before, d.Was = (*was)[0].key, *(*was)[0].row, true
		*was = (*was)[1:]
	}
	if order >= 0 {
		k, d.After, d.Is = (*is)[0].key, *(*is)[0].row, true
		*is = (*is)[1:]
	}
	return k, d, false
}

// items returns the items of the tree, in key order.
func (t Table[K, R]) items() []*item[K, R] {
	if t.tree == nil {
		return nil
	}
	all := make([]*item[K, R], 0, t.tree.Len())
	t.tree.Scan(func(p unsafe.Pointer) bool {
		all = append(all, at[K, R](p))
		return true
	})
	return all
}
