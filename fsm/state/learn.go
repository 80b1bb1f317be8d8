package state

import (
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Bounds of the scheduler's memory of run times.
const (
	MaxSketches   = 20_000
	maxSketchesOf = MaxSketches / 10 // of a user, from which on the user's own go when room is needed
)

// forgetSketch makes room for a sketch of a user: it removes the user's own that was updated least recently
// if the user has many, otherwise that of all users.
func forgetSketch(t *tx, user string) {
	own, oldest := 0, SketchAgeKey{Updated: 1<<64 - 1}
	for k, s := range t.sketches.now().From(model.SketchKey{User: user}) {
		if k.User != user {
			break
		}
		own++
		if s.Updated < oldest.Updated {
			oldest = SketchAgeKey{s.Updated, k}
		}
	}
	if own < maxSketchesOf {
		oldest = firstKey(t.sketchAge.now().All())
	}
	t.sketches.delete(oldest.Sketch)
}

// learn feeds the sketch of runs like this one, if it ended by itself.
func learn(t *tx, job *model.Job, a *model.Attempt, ran time.Duration) {
	if a.State != model.TaskCompleted || ran <= 0 || a.GPUs != job.Spec.GPUs { // fewer GPUs take longer
		return
	}
	k := pastOf(&job.Spec)
	s, found := t.sketches.get(k)
	if !found && t.sketches.size() >= MaxSketches {
		forgetSketch(t, k.User)
	}
	s.Key, s.Updated = k, t.meta.Index
	s.Count++
	peak := peakOf(ranksOf(t, a.Key))
	s.Sum += ran
	bucket := 0
	for v := ran / time.Second; v > 1 && bucket < len(s.Log2)-1; v >>= 1 {
		bucket++
	}
	if s.Log2[bucket] < 1<<16-1 {
		s.Log2[bucket]++
	}
	weigh(&s, peak)
	t.sketches.put(s)
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
