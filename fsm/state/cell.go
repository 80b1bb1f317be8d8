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
	t      *tx
	number uint8  // in digests and snapshots, for ever
	name   string // for messages
	wakes  model.TopicSet
	key    func(R) K
	hook   func(t *tx, old, next *R) // updates indexes and counts; nil stands for no row

	base    table.Table[K, R]
	draft   *table.Draft[K, R]
	at      map[K]int // where in changes a key's change is
	changes []change[K, R]
}

// change is what a transaction has done to one key; nil stands for no row.
type change[K, R any] struct {
	key  K
	old  *R // in the base
	next *R // in the draft, where later writes of the transaction change it in place
}

// anyCell is a cell of any table, for loops over all of them.
type anyCell interface {
	info() (number uint8, name string)
	rows() iter.Seq[any]                          // pointers to copies of the rows, in order
	load(c *commit, decode func(any) error) error // one row, by a decoder; rows come in order
	commit(c *commit)
	size() int
}

func (c *cell[K, R]) get(k K) (row R, ok bool) {
	i, touched := c.at[k]
	switch {
	case !touched && c.draft != nil:
		return c.draft.Get(k)
	case !touched:
		return c.base.Get(k)
	case c.changes[i].next == nil:
		return row, false
	}
	return *c.changes[i].next, true
}

func (c *cell[K, R]) has(k K) bool { return c.now().Has(k) }

// now returns the table's current contents in the transaction. It must not be ranged over while the cell is
// written to.
func (c *cell[K, R]) now() table.Table[K, R] {
	if c.draft != nil {
		return c.draft.Table()
	}
	return c.base
}

func (c *cell[K, R]) put(row R) {
	k := c.key(row)
	was, had := c.get(k)
	if had && was == row {
		return
	}
	now := c.touch(k, &was, had)
	if now.next != nil {
		*now.next = row
	} else {
		now.next = c.draft.Put(k, row)
	}
	c.tell(&was, had, now.next)
}

func (c *cell[K, R]) delete(k K) {
	was, had := c.get(k)
	if !had {
		return
	}
	c.touch(k, &was, had).next = nil
	c.draft.Delete(k)
	c.tell(&was, had, nil)
}

// tell runs the hook. The former row is copied only for a cell that has one.
func (c *cell[K, R]) tell(was *R, had bool, now *R) {
	switch {
	case c.hook == nil:
	case had:
		old := *was
		c.hook(c.t, &old, now)
	default:
		c.hook(c.t, nil, now)
	}
}

// touch finds or begins the change of a key, whose row so far is was, if it had one. It is valid until the
// next touch.
func (c *cell[K, R]) touch(k K, was *R, had bool) *change[K, R] {
	if i, touched := c.at[k]; touched {
		return &c.changes[i]
	}
	if c.draft == nil {
		c.draft = c.base.Fork()
		c.at = map[K]int{}
	}
	c.at[k] = len(c.changes)
	c.changes = append(c.changes, change[K, R]{key: k})
	now := &c.changes[len(c.changes)-1]
	if had {
		old := *was
		now.old = &old
	}
	return now
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

func (c *cell[K, R]) load(to *commit, decode func(any) error) error {
	row := new(R)
	if err := decode(row); err != nil {
		return fmt.Errorf("a row of table %s: %w", c.name, err)
	}
	if c.draft == nil {
		c.draft = c.base.Fork()
	}
	if !c.draft.Append(c.key(*row), *row) {
		return fmt.Errorf("%w: table %s is not in order", ErrCorrupt, c.name)
	}
	to.add(c.number, row)
	if c.hook != nil {
		c.hook(c.t, nil, row)
	}
	return nil
}

// commit adds every row that differs to the digest.
func (c *cell[K, R]) commit(to *commit) {
	slices.SortFunc(c.changes, func(a, b change[K, R]) int { return a.key.Compare(b.key) })
	before := to.digest.sums[c.number]
	for _, v := range c.changes {
		switch {
		case v.old == nil && v.next == nil, v.old != nil && v.next != nil && *v.old == *v.next:
			continue
		}
		to.wakes |= c.wakes
		switch {
		case v.old == nil:
		case c.base.Len() == 1: // such as the settings, which nearly every entry changes: the sum was its hash
			to.digest.sums[c.number].less(&before)
		default:
			to.remove(c.number, v.old)
		}
		if v.next != nil {
			to.add(c.number, v.next)
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

// move moves the index from an old key to a new one; ok is whether there is one.
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
func reindex[K table.Key[K], R any](x *index[K, None], old, next *R, key func(*R) (K, bool)) {
	var from, to K
	var had, has bool
	if old != nil {
		from, had = key(old)
	}
	if next != nil {
		to, has = key(next)
	}
	x.move(from, had, to, has, None{})
}
