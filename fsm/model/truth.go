package model

import "time"

// Truth is how right estimates of run times were: how many runs took about 2^((i-24)/4) times as long as
// estimated, to an eighth of a doubling either way; the first and the last also what is beyond. Once there
// are many, old ones count less and less.
type Truth [32]uint16

// Bounds of the statistics of estimates.
const (
	truthFew   = 8   // the fewest runs that are significant
	truthMany  = 512 // at which all are halved
	truthExact = 24  // the bucket of runs that took as long as estimated
)

// Note adds a run with its estimate and its run time.
func (t *Truth) Note(said, took time.Duration) {
	const quarter = ErrorSteps / 4
	steps := int(log2(max(took, time.Second))) - int(log2(max(said, time.Second)))
	t[min(max(steps+truthExact*quarter+quarter/2, 0)/quarter, len(t)-1)]++
	if t.runs() >= truthMany {
		for i := range t {
			t[i] /= 2
		}
	}
}

func (t *Truth) runs() (n int) {
	for _, v := range t {
		n += int(v)
	}
	return n
}

// Span is how long something may take: a quarter takes less than Least, half less than Usual, and nine in ten
// less than Most.
type Span struct{ Least, Usual, Most time.Duration }

// Left returns how much longer a run takes with an estimate of said, and that has run for ran, by the known
// runs that took longer than that relative to their estimates. False if there were too few.
func (t *Truth) Left(said, ran time.Duration) (left Span, known bool) {
	if t.runs() < truthFew {
		return left, false
	}
	at := uint64(max(ran, 0) / time.Millisecond)
	var runs [len(t)]uint64 // thousandths of those that took longer
	var all uint64
	for i, n := range t {
		low, high := truthEdge(said, i), truthEdge(said, i+1)
		if high > at {
			runs[i] = 1000 * uint64(n) * (high - max(low, at)) / (high - low)
			all += runs[i]
		}
	}
	if all < 1000 {
		return left, false
	}
	low, _, _ := truthBucket(said, at, truthRank(&runs, all/4))
	_, usual, _ := truthBucket(said, at, truthRank(&runs, all/2))
	_, _, high := truthBucket(said, at, truthRank(&runs, all*9/10))
	return Span{low, usual, high}, true
}

// truthRank returns the bucket with the run of a rank.
func truthRank(runs *[len(Truth{})]uint64, rank uint64) (last int) {
	for i, n := range runs {
		if n > 0 {
			if last = i; rank <= n {
				return i
			}
		}
		rank -= min(n, rank)
	}
	return last
}

// truthBucket returns how much longer the runs of a bucket take that have run for so many milliseconds, at least,
// usually and at most.
func truthBucket(said time.Duration, at uint64, i int) (low, usual, high time.Duration) {
	from, middle, to := max(truthEdge(said, i), at), scaled(said, i-truthExact, 0), truthEdge(said, i+1)
	if middle < from {
		middle = (from + to) / 2
	}
	return duration(from - at), duration(middle - at), duration(to - at)
}

// truthEdge returns where a bucket begins, in milliseconds.
func truthEdge(said time.Duration, i int) uint64 { return scaled(said, i-truthExact-1, 1) }

// scaled returns a time multiplied by 2^(quarters/4 + eighths/8), in milliseconds.
func scaled(d time.Duration, quarters, eighths int) uint64 {
	roots := [8]uint64{65536, 71468, 77936, 84990, 92682, 101070, 110218, 120194} // 2^(i/8), times 2^16
	n := 2*quarters + eighths + 8*8                                               // not negative
	return millis(d) * roots[n%8] >> 16 << (n / 8) >> 8
}

// millis returns a time of a second at least, in milliseconds.
func millis(d time.Duration) uint64 { return uint64(max(d, time.Second) / time.Millisecond) }

func duration(millis uint64) time.Duration { return time.Duration(millis) * time.Millisecond }
