// Package table holds persistent ordered tables: maps from keys to rows, in key order, whose copies cost
// nothing.
//
// A [Table] is a value that never changes: any number of goroutines may read it without a lock, and keep it
// for as long as they like. A writer takes a [Draft] of it, changes that, and publishes the draft's Table;
// the two share everything in which they do not differ. The order of keys is the order of iteration, on every
// machine, which is why the state uses tables where another program would use maps.
//
// The tree below is tidwall/btree. Its Copy marks the tree that it copies, so two readers that copy one
// published tree race with each other; a draft therefore copies a private header of the tree (see Fork), and
// nothing else in Berth touches the library.
//
//berth:pure
package table

import (
	"iter"
	"unsafe"

	"github.com/tidwall/btree"
)

// Key is a type by which a table can be ordered.
type Key[K any] interface {
	comparable
	Compare(K) int
}

// degree 8 copied least in a comparison of 4 to 32 at 100,000 rows.
const degree = 8

// item is an element of the tree.
type item[K Key[K], R any] struct {
	key K
	row *R
}

// tree is the tree of every table. Its elements are pointers without a type, each to an item of the table that the
// tree belongs to: the compiler makes one tree for all tables then, where it would otherwise make one for each, in
// every package that uses them, which takes four times as long.
type tree = btree.BTreeG[unsafe.Pointer]

// element returns an item as an element of the tree.
func element[K Key[K], R any](it *item[K, R]) unsafe.Pointer {
	return unsafe.Pointer(it) //nolint:gosec // only at reads it, as the same type: a table's tree holds its items alone
}

// at returns the item that an element is.
func at[K Key[K], R any](p unsafe.Pointer) *item[K, R] { return (*item[K, R])(p) }

// Table maps keys to rows. The zero Table is empty and ready to use.
type Table[K Key[K], R any] struct {
	tree *tree
}

func fresh[K Key[K], R any]() *tree {
	return btree.NewBTreeGOptions(
		func(a, b unsafe.Pointer) bool { return at[K, R](a).key.Compare(at[K, R](b).key) < 0 },
		btree.Options{NoLocks: true, Degree: degree})
}

// Get returns the row of a key.
func (t Table[K, R]) Get(k K) (row R, ok bool) {
	if t.tree == nil {
		return row, false
	}
	p, ok := t.tree.Get(element(&item[K, R]{key: k}))
	if !ok {
		return row, false
	}
	return *at[K, R](p).row, true
}

// Has reports whether there is a row of that key.
func (t Table[K, R]) Has(k K) bool {
	if t.tree == nil {
		return false
	}
	_, ok := t.tree.Get(element(&item[K, R]{key: k}))
	return ok
}

// InOrder returns a reader for looking up rows one after the other.
func (t Table[K, R]) InOrder() *Reader[K, R] { return &Reader[K, R]{tree: t.tree} }

// Reader looks up rows for one goroutine: cheaper than [Table.Get] if each key is near the one before.
type Reader[K Key[K], R any] struct {
	tree *tree
	want item[K, R] // what is looked for; kept, so that a look-up allocates nothing
	near btree.PathHint
}

// Get returns the row of a key.
func (r *Reader[K, R]) Get(k K) (row R, ok bool) {
	if r.tree == nil {
		return row, false
	}
	r.want.key = k
	p, ok := r.tree.GetHint(element(&r.want), &r.near)
	if !ok {
		return row, false
	}
	return *at[K, R](p).row, true
}

// Len returns the number of rows.
func (t Table[K, R]) Len() int {
	if t.tree == nil {
		return 0
	}
	return t.tree.Len()
}

// All yields every row in key order.
func (t Table[K, R]) All() iter.Seq2[K, R] {
	return func(yield func(K, R) bool) {
		if t.tree != nil {
			t.tree.Scan(func(p unsafe.Pointer) bool { it := at[K, R](p); return yield(it.key, *it.row) })
		}
	}
}

// From yields the rows of keys at and after k, in key order.
func (t Table[K, R]) From(k K) iter.Seq2[K, R] {
	return func(yield func(K, R) bool) {
		if t.tree != nil {
			t.tree.Ascend(element(&item[K, R]{key: k}), func(p unsafe.Pointer) bool { it := at[K, R](p); return yield(it.key, *it.row) })
		}
	}
}

// Back yields every row in the reverse of key order.
func (t Table[K, R]) Back() iter.Seq2[K, R] {
	return func(yield func(K, R) bool) {
		if t.tree != nil {
			t.tree.Reverse(func(p unsafe.Pointer) bool { it := at[K, R](p); return yield(it.key, *it.row) })
		}
	}
}

// Fork returns a draft of the table. Many goroutines may fork one table at once.
func (t Table[K, R]) Fork() *Draft[K, R] {
	if t.tree == nil {
		return &Draft[K, R]{tree: fresh[K, R]()}
	}
	header := *t.tree
	return &Draft[K, R]{tree: header.Copy()}
}

// Draft is a table that one goroutine is changing.
type Draft[K Key[K], R any] struct {
	tree *tree
	want item[K, R] // what is looked for; kept, so that a look-up allocates nothing
}

// Table publishes the draft, which must not be changed after.
func (d *Draft[K, R]) Table() Table[K, R] { return Table[K, R]{d.tree} }

// Get returns the row of a key.
func (d *Draft[K, R]) Get(k K) (row R, ok bool) {
	d.want.key = k
	p, ok := d.tree.Get(element(&d.want))
	if !ok {
		return row, false
	}
	return *at[K, R](p).row, true
}

// Put stores a row under a key, in place of an existing one. It returns a pointer to the row, so that until
// the draft is published the row can be changed again without another search.
func (d *Draft[K, R]) Put(k K, row R) *R {
	d.tree.Set(element(&item[K, R]{k, &row}))
	return &row
}

// Append stores a row under a key that is greater than all others, the quick way to build a table from sorted
// rows. It reports whether the key is greater.
func (d *Draft[K, R]) Append(k K, row R) bool {
	if last, ok := d.tree.Max(); ok && at[K, R](last).key.Compare(k) >= 0 {
		return false
	}
	d.tree.Load(element(&item[K, R]{k, &row}))
	return true
}

// Delete removes a key's row, if there is one.
func (d *Draft[K, R]) Delete(k K) {
	d.want.key = k
	d.tree.Delete(element(&d.want))
}
