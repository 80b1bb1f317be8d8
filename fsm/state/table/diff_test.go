package table

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// Diffs names every row that differs between a table and one forked from it, as it
// was and as it is, in the order of keys.
func TestDiffsAreWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Table[num, row]{}.Fork()
		for range rapid.IntRange(0, 200).Draw(t, "rows") {
			d.Put(num(rapid.IntRange(0, 300).Draw(t, "key")), row{A: 1})
		}
		before := d.Table()
		fork := before.Fork()
		written := map[num]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			k := num(rapid.IntRange(0, 300).Draw(t, "key"))
			written[k] = true
			if rapid.Bool().Draw(t, "delete") {
				fork.Delete(k)
			} else {
				fork.Put(k, row{A: 2, B: rapid.Int().Draw(t, "b")})
			}
		}
		checkDiffs(t, before, fork.Table(), written)
	})
}

func checkDiffs(t *rapid.T, before, after Table[num, row], written map[num]bool) {
	got, last := map[num]Diff[row]{}, num(-1)
	for k, d := range Diffs(before, after) {
		if k <= last || !written[k] {
			t.Fatalf("key %d comes after %d; written: %t", k, last, written[k])
		}
		got[k], last = d, k
	}
	for k := range maps.Keys(written) {
		var want Diff[row]
		want.Before, want.Was = before.Get(k)
		want.After, want.Is = after.Get(k)
		if got[k] != want {
			t.Errorf("key %d: %+v, want %+v", k, got[k], want)
		}
	}
}

// A fork that was not written to differs in nothing, nor does a table from itself.
func TestNoDiffs(t *testing.T) {
	d := Table[num, row]{}.Fork()
	for i := range 100 {
		d.Append(num(i), row{i, i})
	}
	published := d.Table()
	for _, other := range []Table[num, row]{published, published.Fork().Table()} {
		for k, v := range Diffs(published, other) {
			t.Errorf("key %d: %+v", k, v)
		}
	}
	for range Diffs(Table[num, row]{}, Table[num, row]{}) {
		t.Error("two empty tables differ")
	}
	first := 0
	for range Diffs(Table[num, row]{}, published) {
		first++
		break
	}
	if first != 1 {
		t.Errorf("%d rows before the break", first)
	}
}
