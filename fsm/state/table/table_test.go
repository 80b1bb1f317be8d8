package table

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

type num int

func (n num) Compare(o num) int { return cmp.Compare(n, o) }

type row struct{ A, B int }

func collect(t Table[num, row]) map[num]row { return maps.Collect(t.All()) }

// A table behaves as a map does, and every table ever published stays as it was.
func TestTablesAreMapsThatDoNotChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var current Table[num, row]
		model := map[num]row{}
		type version struct {
			table Table[num, row]
			want  map[num]row
		}
		var past []version
		for range rapid.IntRange(1, 30).Draw(t, "drafts") {
			past = append(past, version{current, maps.Clone(model)})
			d := current.Fork()
			for range rapid.IntRange(0, 40).Draw(t, "writes") {
				k := num(rapid.IntRange(0, 60).Draw(t, "key"))
				if rapid.Bool().Draw(t, "put") {
					r := row{rapid.Int().Draw(t, "a"), int(k)}
					d.Put(k, r)
					model[k] = r
				} else {
					d.Delete(k)
					delete(model, k)
				}
			}
			current = d.Table()
		}
		for i, v := range append(past, version{current, model}) {
			if !maps.Equal(collect(v.table), v.want) || v.table.Len() != len(v.want) {
				t.Fatalf("version %d holds %v, want %v", i, collect(v.table), v.want)
			}
			checkOrder(t, v.table, v.want)
		}
	})
}

func checkOrder(t *rapid.T, table Table[num, row], want map[num]row) {
	keys := slices.Sorted(maps.Keys(want))
	var all, back, from []num
	for k := range table.All() {
		all = append(all, k)
	}
	for k := range table.Back() {
		back = append(back, k)
	}
	for k := range table.From(30) {
		from = append(from, k)
	}
	slices.Reverse(back)
	i, _ := slices.BinarySearch(keys, 30)
	if !slices.Equal(all, keys) || !slices.Equal(back, keys) || !slices.Equal(from, keys[i:]) {
		t.Fatalf("orders: all %v, back %v, from 30 %v; want %v", all, back, from, keys)
	}
}

// Readers and writers may fork one published table at the same time. Under -race
// this fails if Fork copies the library's tree directly.
func TestManyMayForkOnePublishedTable(t *testing.T) {
	d := Table[num, row]{}.Fork()
	for i := range 5000 {
		d.Append(num(i), row{i, i})
	}
	published := d.Table()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				fork := published.Fork()
				fork.Put(num(10_000+g*1000+i), row{i, g})
				fork.Delete(num(i))
			}
		})
	}
	for range 50 {
		if n := len(collect(published)); n != 5000 {
			t.Errorf("a reader saw %d rows, want 5000", n)
		}
	}
	wg.Wait()
}

// Append builds the same table as Put.
func TestAppendIsPutInOrder(t *testing.T) {
	a, p := Table[num, row]{}.Fork(), Table[num, row]{}.Fork()
	for i := range 1000 {
		a.Append(num(i), row{i, 0})
	}
	for i := range 1000 {
		p.Put(num(999-i), row{999 - i, 0})
	}
	if !maps.Equal(collect(a.Table()), collect(p.Table())) {
		t.Fatal("Append and Put built different tables")
	}
}

// The zero table is an empty one.
func TestTheZeroTableIsEmpty(t *testing.T) {
	var z Table[num, row]
	if _, ok := z.Get(1); ok || z.Has(1) || z.Len() != 0 || len(collect(z)) != 0 {
		t.Fatal("the zero table holds something")
	}
	for range z.From(0) {
		t.Fatal("the zero table yields something")
	}
	for range z.Back() {
		t.Fatal("the zero table yields something")
	}
}

// A reader finds what a table has, in whatever order it is asked.
func TestReadersFindWhatATableHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var empty Table[num, row]
		d := empty.Fork()
		for range rapid.IntRange(0, 400).Draw(t, "rows") {
			k := num(rapid.IntRange(0, 1000).Draw(t, "key"))
			d.Put(k, row{A: int(k)})
		}
		table := d.Table()
		for _, of := range []Table[num, row]{empty, table} {
			r := of.InOrder()
			for range 100 {
				k := num(rapid.IntRange(-1, 1001).Draw(t, "asked"))
				want, is := of.Get(k)
				if got, found := r.Get(k); got != want || found != is {
					t.Fatalf("%d: %v, %v; the table has %v, %v", k, got, found, want, is)
				}
			}
		}
	})
}
