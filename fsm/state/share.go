package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Expect returns the expected remaining run time of a task of a spec that has executed for so long: by its
// user's estimate, otherwise by what runs like it have taken, otherwise, without any knowledge, as long
// again, an hour at least. A time limit bounds it.
func Expect(spec *model.Spec, past *model.Sketch, executed time.Duration) time.Duration {
	left := max(executed, time.Hour)
	if typical, known := Typical(past); spec.Estimate > 0 {
		left = max(spec.Estimate-executed, spec.Estimate/20)
	} else if known {
		left = max(typical-executed, executed)
	}
	if spec.TimeLimit > 0 {
		left = min(left, max(spec.TimeLimit-executed, 0))
	}
	return left
}

// fewRuns is how many runs it takes to predict the next.
const fewRuns = 3

// Typical returns the median of runs, to a factor of the square root of two; false if
// there were too few.
func Typical(past *model.Sketch) (time.Duration, bool) {
	var all uint32
	for _, n := range past.Log2 {
		all += uint32(n)
	}
	if all < fewRuns {
		return 0, false
	}
	var below uint32
	for i, n := range past.Log2 {
		if below += uint32(n); 2*below >= all {
			return time.Duration(1<<i) * time.Second * 3 / 2, true
		}
	}
	return 0, false
}

// Quantile returns how long runs took of which that percentage, 0 to 100, took no longer; false if there were
// too few. Between powers of two seconds it takes them as evenly spread.
func Quantile(past *model.Sketch, percent uint32) (time.Duration, bool) {
	var all uint64
	for _, n := range past.Log2 {
		all += uint64(n)
	}
	if all < fewRuns {
		return 0, false
	}
	rank := min(uint64(percent), 100) * all // in hundredths of a run
	for i, n := range past.Log2 {
		own := 100 * uint64(n)
		if n == 0 || rank > own {
			rank -= own
			continue
		}
		from := uint64(1000) << i // in milliseconds, below 2^34
		return time.Duration(from+from*rank/own) * time.Millisecond, true
	}
	return 0, false
}

// PastKey returns the key of runs like those of a spec.
func PastKey(spec *model.Spec) model.SketchKey {
	return model.SketchKey{User: spec.User, Name: spec.RunName(), GPUs: spec.GPUs}
}

// Past returns what runs like those of a spec have taken.
func (s *State) Past(spec *model.Spec) model.Sketch {
	past, _ := s.Sketches.Get(PastKey(spec))
	return past
}

// Expect returns the expected remaining run time of a task that has executed for so long, as [Expect] has it.
func (s *State) Expect(spec *model.Spec, executed time.Duration) time.Duration {
	past := s.Past(spec)
	return Expect(spec, &past, executed)
}
