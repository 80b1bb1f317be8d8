package state

import (
	"fmt"
	"iter"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// cell is one stored table within a transaction.
type cell[K table.Key[K], R comparable] struct {
	number uint8  // in digests and snapshots, for ever
	name   string // for messages
	wakes  model.TopicSet
	key    func(*R) K
	hook   func(old, new *R) // keeps indexes and counts in step; nil stands for no row

	base    table.Table[K, R]
	draft   *table.Draft[K, R]
	touched []K
}

// anyCell is a cell of any table, for loops over all of them.
type anyCell interface {
	info() (number uint8, name string)
	rows() iter.Seq[any]             // pointers to copies of the rows, in order
	load(decode func(any) error) error // one row, by a decoder
	commit(c *commit)
	size() int
}

func (c *cell[K, R]) get(k K) (R, bool) {
	if c.draft != nil {
		return c.draft.Get(k)
	}
	return c.base.Get(k)
}

func (c *cell[K, R]) has(k K) bool { return c.now().Has(k) }

// now is the table as it stands in the transaction. It must not be ranged over
// while the cell is written to.
func (c *cell[K, R]) now() table.Table[K, R] {
	if c.draft != nil {
		return c.draft.Table()
	}
	return c.base
}

func (c *cell[K, R]) put(row R) {
	k := c.key(&row)
	old, had := c.get(k)
	if had && old == row {
		return
	}
	c.fork()
	c.draft.Put(k, row)
	c.touched = append(c.touched, k)
	switch {
	case c.hook == nil:
	case had:
		c.hook(&old, &row)
	default:
		c.hook(nil, &row)
	}
}

func (c *cell[K, R]) delete(k K) {
	old, had := c.get(k)
	if !had {
		return
	}
	c.fork()
	c.draft.Delete(k)
	c.touched = append(c.touched, k)
	if c.hook != nil {
		c.hook(&old, nil)
	}
}

func (c *cell[K, R]) fork() {
	if c.draft == nil {
		c.draft = c.base.Fork()
	}
}

func (c *cell[K, R]) info() (uint8, string) { return c.number, c.name }

func (c *cell[K, R]) size() int { return c.now().Len() }

func (c *cell[K, R]) rows() iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, row := range c.now().All() {
			if !yield(&row) {
				return
			}
		}
	}
}

func (c *cell[K, R]) load(decode func(any) error) error {
	var row R
	if err := decode(&row); err != nil {
		return fmt.Errorf("a row of table %s: %w", c.name, err)
	}
	c.put(row)
	return nil
}

// commit gives every row that differs to the digest.
func (c *cell[K, R]) commit(to *commit) {
	if c.draft == nil {
		return
	}
	slices.SortFunc(c.touched, K.Compare)
	for _, k := range slices.Compact(c.touched) {
		old, had := c.base.Get(k)
		row, has := c.draft.Get(k)
		if had == has && (!had || old == row) {
			continue
		}
		to.wakes |= c.wakes
		if had {
			to.remove(c.number, &old)
		}
		if has {
			to.add(c.number, &row)
		}
	}
}

// index is a derived table within a transaction.
type index[K table.Key[K], V any] struct {
	base  table.Table[K, V]
	draft *table.Draft[K, V]
}

func (x *index[K, V]) now() table.Table[K, V] {
	if x.draft != nil {
		return x.draft.Table()
	}
	return x.base
}

func (x *index[K, V]) fork() *table.Draft[K, V] {
	if x.draft == nil {
		x.draft = x.base.Fork()
	}
	return x.draft
}

// move takes the index from an old key to a new one; ok says whether there is one.
func (x *index[K, V]) move(from K, hadFrom bool, to K, hasTo bool, v V) {
	if hadFrom && hasTo && from == to {
		return
	}
	if hadFrom {
		x.fork().Delete(from)
	}
	if hasTo {
		x.fork().Put(to, v)
	}
}

// reindex moves an index whose keys follow from single rows.
func reindex[K table.Key[K], R any](x *index[K, None], old, new *R, key func(*R) (K, bool)) {
	var from, to K
	var had, has bool
	if old != nil {
		from, had = key(old)
	}
	if new != nil {
		to, has = key(new)
	}
	x.move(from, had, to, has, None{})
}
