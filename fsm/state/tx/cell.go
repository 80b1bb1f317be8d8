package tx

import (
	"fmt"
	"iter"
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// cell is one stored table within a transaction.
type cell[K table.Key[K], R comparable] struct {
	t      *Tx
	number uint8  // in digests and snapshots, for ever
	name   string // for messages
	wakes  model.TopicSet
	key    func(R) K
	hook   func(t *Tx, old, next *R) // updates indexes and counts; nil stands for no row

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

// AnyCell is a cell of any table, for loops over all of them.
type AnyCell interface {
	Info() (number uint8, name string)
	Rows() iter.Seq[any]                                 // pointers to copies of the rows, in order
	Load(c *digest.Commit, decode func(any) error) error // one row, by a decoder; rows come in order
	Commit(c *digest.Commit)
	Size() int
}

// Get returns the row of a key as of now within the entry.
func (c *cell[K, R]) Get(k K) (row R, ok bool) {
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

// Must returns the row of a key that other rows refer to, so that there must be one. A state without the row has a
// defect: Must panics, Apply skips the command alone and reports it.
//
//berth:halt
func (c *cell[K, R]) Must(k K) R {
	row, ok := c.Get(k)
	if !ok {
		panic(fmt.Sprintf("table %s has no row %v", c.name, k))
	}
	return row
}

// Has reports whether there is a row of a key.
func (c *cell[K, R]) Has(k K) bool { return c.Now().Has(k) }

// Now returns the table's current contents in the transaction. It must not be ranged over while the cell is
// written to.
func (c *cell[K, R]) Now() table.Table[K, R] {
	if c.draft != nil {
		return c.draft.Table()
	}
	return c.base
}

// Put adds a row, or replaces the row of its key.
func (c *cell[K, R]) Put(row R) {
	k := c.key(row)
	was, had := c.Get(k)
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

// Delete removes the row of a key, if there is one.
func (c *cell[K, R]) Delete(k K) {
	was, had := c.Get(k)
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

// Info returns the table's number and name.
func (c *cell[K, R]) Info() (uint8, string) { return c.number, c.name }

// Size returns how many rows the table has.
func (c *cell[K, R]) Size() int { return c.Now().Len() }

// Rows returns pointers to copies of the rows, in order.
func (c *cell[K, R]) Rows() iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, row := range c.Now().All() {
			if !yield(&row) {
				return
			}
		}
	}
}

// Load adds a row of a snapshot.
func (c *cell[K, R]) Load(to *digest.Commit, decode func(any) error) error {
	row := new(R)
	if err := decode(row); err != nil {
		return fmt.Errorf("a row of table %s: %w", c.name, err)
	}
	if c.draft == nil {
		c.draft = c.base.Fork()
	}
	if !c.draft.Append(c.key(*row), *row) {
		return fmt.Errorf("%w: table %s is not in order", state.ErrCorrupt, c.name)
	}
	to.Add(c.number, row)
	if c.hook != nil {
		c.hook(c.t, nil, row)
	}
	return nil
}

// Commit adds every row that differs to the digest.
func (c *cell[K, R]) Commit(to *digest.Commit) {
	slices.SortFunc(c.changes, func(a, b change[K, R]) int { return a.key.Compare(b.key) })
	before := to.Digest.Sums[c.number]
	for _, v := range c.changes {
		switch {
		case v.old == nil && v.next == nil, v.old != nil && v.next != nil && *v.old == *v.next:
			continue
		}
		to.Wakes |= c.wakes
		switch {
		case v.old == nil:
		case c.base.Len() == 1: // such as the settings, which nearly every entry changes: the sum was its hash
			to.Digest.Sums[c.number].Less(&before)
		default:
			to.Remove(c.number, v.old)
		}
		if v.next != nil {
			to.Add(c.number, v.next)
		}
	}
}

// index is a derived table within a transaction.
type index[K table.Key[K], V any] struct {
	base  table.Table[K, V]
	draft *table.Draft[K, V]
}

// Now returns the index's current contents in the transaction. It must not be ranged over while rows are written.
func (x *index[K, V]) Now() table.Table[K, V] {
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
func reindex[K table.Key[K], R any](x *index[K, state.None], old, next *R, key func(*R) (K, bool)) {
	var from, to K
	var had, has bool
	if old != nil {
		from, had = key(old)
	}
	if next != nil {
		to, has = key(next)
	}
	x.move(from, had, to, has, state.None{})
}
