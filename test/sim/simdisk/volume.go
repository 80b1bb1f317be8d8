package simdisk

import (
	"math/rand/v2"
	"slices"
)

// maxLies is how many changes a disk that lies about fsync can lose: the
// kernel and the drive write the rest back sooner or later.
const maxLies = 64

// volume is a data folder between the process and the platter.
type volume struct {
	cache image    // what reads see, and what a killed process leaves
	kept  image    // what has been synced, and what a power cut leaves
	dirty []change // what cache has and kept has not, in order

	forgot bool // something is in cache that no sync will ever keep
}

// change is a write that has not been synced.
type change struct {
	file  string // synced together, and lost from the end
	apply func(*image)
}

func newVolume() *volume { return &volume{cache: newImage(), kept: newImage()} }

func (v *volume) clone() *volume {
	return &volume{cache: v.cache.clone(), kept: v.kept.clone(), dirty: slices.Clone(v.dirty), forgot: v.forgot}
}

// write applies a change where it can be seen.
func (v *volume) write(file string, apply func(*image)) {
	apply(&v.cache)
	v.dirty = append(v.dirty, change{file, apply})
}

// sync makes what was written to a file durable.
func (v *volume) sync(file string) { v.settle(func(c change, _ int) bool { return c.file == file }) }

// syncLying pretends to sync. Only what is old enough becomes durable.
func (v *volume) syncLying() {
	old := len(v.dirty) - maxLies
	v.settle(func(_ change, i int) bool { return i < old })
}

// settle makes the chosen changes durable.
func (v *volume) settle(chosen func(c change, i int) bool) {
	var rest []change
	for i, c := range v.dirty {
		if chosen(c, i) {
			c.apply(&v.kept)
		} else {
			rest = append(rest, c)
		}
	}
	v.dirty = rest
}

// forget is what a failed fsync does: the kernel drops the error with the
// pages' dirty marks, reads go on to see the data, and no later fsync will
// ever write it.
func (v *volume) forget(file string) {
	all := len(v.dirty)
	v.dirty = slices.DeleteFunc(v.dirty, func(c change) bool { return c.file == file })
	v.forgot = v.forgot || len(v.dirty) < all
}

// afterPowerCut returns what is left when the power fails: all that was synced,
// and of each file's later changes as many as happened to be written back.
func (v *volume) afterPowerCut(rng *rand.Rand) *volume {
	count := map[string]int{}
	for _, c := range v.dirty {
		count[c.file]++
	}
	lucky := map[string]int{}
	left := &volume{kept: v.kept.clone()}
	for _, c := range v.dirty {
		if _, drawn := lucky[c.file]; !drawn {
			lucky[c.file] = rng.IntN(count[c.file] + 1)
		}
		if lucky[c.file] > 0 {
			lucky[c.file]--
			c.apply(&left.kept)
		}
	}
	left.cache = left.kept.clone()
	return left
}

// settled returns a copy of what reads see, as if all of it had been synced.
func (v *volume) settled() *volume {
	return &volume{cache: v.cache.clone(), kept: v.cache.clone()}
}
