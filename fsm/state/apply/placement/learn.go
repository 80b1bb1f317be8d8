package placement

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// forgetSketch makes room for a sketch; false if there is none for it. A sketch of jobs without GPUs is removed first,
// and the other sketches are kept as if there were none of those. Of sketches of the same sort, forgetSketch removes the
// user's own that was updated least recently if the user has many, otherwise that of all users.
func forgetSketch(t *tx.Tx, of model.SketchKey) bool {
	oldest := tx.FirstKey(t.SketchAge.Now().All())
	switch goes := oldest.Sketch.GPUs > 0; {
	case goes && of.GPUs == 0:
		return false
	case goes == (of.GPUs > 0):
		if own, many := oldestOf(t, of); many {
			oldest.Sketch = own
		}
	}
	t.Sketches.Delete(oldest.Sketch)
	return true
}

// oldestOf returns the sketch of the same user, and of jobs with or without GPUs like of, that was updated least
// recently, and reports whether the user has many of them.
func oldestOf(t *tx.Tx, of model.SketchKey) (key model.SketchKey, many bool) {
	own, oldest := 0, uint64(1<<64-1)
	for k, s := range t.Sketches.Now().From(model.SketchKey{User: of.User}) {
		if k.User != of.User {
			break
		}
		if k.GPUs > 0 != (of.GPUs > 0) {
			continue
		}
		own++
		if s.Updated < oldest {
			key, oldest = k, s.Updated
		}
	}
	return key, own >= state.MaxSketchesOf
}

// learn feeds the sketch of runs like this one, if it ended by itself.
func learn(t *tx.Tx, job *model.Job, a *model.Attempt, ran time.Duration) {
	if a.State != model.TaskCompleted || ran <= 0 || a.GPUs != job.Spec.GPUs { // fewer GPUs take longer
		return
	}
	k := state.PastKey(&job.Spec)
	s, found := t.Sketches.Get(k)
	if !found && t.Sketches.Size() >= state.MaxSketches && !forgetSketch(t, k) {
		return
	}
	s.Key, s.Updated = k, t.Meta.Index
	s.Count++
	peak := peakOf(tx.RanksOf(t, a.Key))
	s.Sum += ran
	bucket := 0
	for v := ran / time.Second; v > 1 && bucket < len(s.Log2)-1; v >>= 1 {
		bucket++
	}
	if s.Log2[bucket] < 1<<16-1 {
		s.Log2[bucket]++
	}
	weigh(&s, peak)
	t.Sketches.Put(s)
}

// weigh adds the memory that a run has used to a sketch, if it is known.
func weigh(s *model.Sketch, peak uint32) {
	if peak == 0 {
		return
	}
	s.Peaks++
	if peak >= s.PeakMB {
		s.PeakMB = peak
	} else {
		s.PeakMB -= (s.PeakMB - peak) / 8
	}
}

// peakOf returns the most memory that an attempt used on any of its GPUs, in MiB; 0 if unknown for a rank.
func peakOf(ranks []model.Rank) (most uint32) {
	for i := range ranks {
		if ranks[i].Exit.PeakMB == 0 {
			return 0
		}
		most = max(most, ranks[i].Exit.PeakMB)
	}
	return most
}
