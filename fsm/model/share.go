package model

import (
	"math"
	"math/bits"
	"time"
)

// Share is a user's recent use of the cluster: GPU time that loses half its weight every half-life, with
// running work counted as it runs.
type Share struct {
	Key  ShareKey `cbor:"1,keyasint,omitempty"`
	Used int64    `cbor:"2,keyasint,omitempty"` // GPU-seconds, decayed to At
	At   Time     `cbor:"3,keyasint,omitempty"`
	GPUs uint32   `cbor:"4,keyasint,omitempty"` // held since At

	Truth Truth `cbor:"5,keyasint,omitempty"` // of the user's estimates

	// Rest is the part of a GPU-second that Used leaves out, times 2^32: a user that begins and ends short
	// jobs at any rate must not lose the use in between.
	Rest uint32 `cbor:"6,keyasint,omitempty"`
}

// mostUsed is the most GPU-seconds that a share counts.
const mostUsed = 1 << 62

// UsedAt returns what has been used, decayed to a later instant, in GPU-seconds: each
// second of a GPU counts 2^(-age/halfLife).
func (s Share) UsedAt(now Time, halfLife time.Duration) int64 { return s.Aged(now, halfLife).Used }

// Aged returns the share counted and decayed to a later instant. It is the same, but for some 2^-32 of a
// GPU-second, however often it is updated on the way.
func (s Share) Aged(now Time, halfLife time.Duration) Share {
	if now <= s.At {
		return s
	}
	gone := lost(now.Sub(s.At), halfLife)
	used, rest := uint64(max(s.Used, 0)), uint64(s.Rest)<<32
	// The former use loses that part of it.
	whole, part := bits.Mul64(used, gone)
	small, _ := bits.Mul64(rest, gone)
	part, carry := bits.Add64(part, small, 0)
	rest, borrow := bits.Sub64(rest, part, 0)
	used -= whole + carry + borrow
	// The integral of the decay is (1-2^(-x)) * halfLife/ln 2, here in seconds times 2^32.
	hi, lo := bits.Mul64(uint64(halfLife), perLn2)
	most, _ := bits.Div64(hi, lo, uint64(time.Second))
	each, _ := bits.Mul64(gone, most)
	hi, lo = bits.Mul64(each, uint64(s.GPUs))
	rest, carry = bits.Add64(rest, lo<<32, 0)
	used += hi<<32 | lo>>32 + carry
	s.Used, s.Rest, s.At = int64(min(used, mostUsed)), uint32(rest>>32), now
	return s
}

// perLn2 is 1/ln 2, times 2^32, and ln2 is ln 2 times 2^64.
const (
	perLn2 = 6196328019
	ln2    = 12786308645202655660
)

// lost returns what decays within a time that is more than 0: 1-2^(-d/halfLife), times 2^64, to some units.
func lost(d, halfLife time.Duration) (gone uint64) {
	times, rest := d/halfLife, d%halfLife
	if times >= 64 {
		return math.MaxUint64
	}
	lose := func(more uint64) {
		both, _ := bits.Mul64(gone, more)
		gone += more - both
	}
	// Bit by bit of the rest: 1-2^(-1/2), 1-2^(-1/4), and so on.
	for _, more := range [...]uint64{
		5402926248376769404, 2934943109024486668, 1531005174156084945, 782081430518313940, 395275686695533766, 198708083776110219,
		99623052847904692, 49878961380996955, 24956362260893998, 12482404380319476, 6242258359998634, 3121393267143618,
		1560762660944284, 780397838013612, 390203045979471, 195102554743814,
	} {
		if rest *= 2; rest >= halfLife {
			rest -= halfLife
			lose(more)
		}
	}
	// The rest is so short that 1-2^(-x) is x ln 2 - (x ln 2)^2/2.
	x, _ := bits.Div64(uint64(rest), 0, uint64(halfLife))
	x, _ = bits.Mul64(x>>16, ln2)
	square, _ := bits.Mul64(x, x)
	lose(x - square/2)
	return gone>>times + ^(math.MaxUint64 >> times)
}
