package model_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
)

// Users' estimates are corrected by what they have been worth: a true one stays the same, and a ninefold one
// counts a ninth.
func TestTruth(t *testing.T) {
	const hour, minute = time.Hour, time.Minute
	for name, v := range map[string]struct {
		took []time.Duration // of runs with an estimate of an hour
		ran  time.Duration
		want model.Span // rounded to minutes
	}{
		"right":                     {[]time.Duration{hour}, 0, model.Span{Least: 55 * minute, Usual: 60 * minute, Most: 65 * minute}},
		"right, and half of it ran": {[]time.Duration{hour}, 30 * minute, model.Span{Least: 25 * minute, Usual: 30 * minute, Most: 35 * minute}},
		"a quarter":                 {[]time.Duration{15 * minute}, 0, model.Span{Least: 14 * minute, Usual: 15 * minute, Most: 16 * minute}},
		"twice":                     {[]time.Duration{2 * hour}, 0, model.Span{Least: 110 * minute, Usual: 120 * minute, Most: 131 * minute}},
		"one or the other": {
			[]time.Duration{15 * minute, 30 * minute, 30 * minute, 2 * hour},
			0,
			model.Span{Least: 14 * minute, Usual: 30 * minute, Most: 131 * minute},
		},
		"the others are past": {
			[]time.Duration{15 * minute, 30 * minute, 30 * minute, 2 * hour},
			hour,
			model.Span{Least: 50 * minute, Usual: 60 * minute, Most: 71 * minute},
		},
		"nearly over": {[]time.Duration{hour}, 62 * minute, model.Span{Least: 0, Usual: 2 * minute, Most: 3 * minute}},
	} {
		var truth model.Truth
		for range 16 {
			for _, took := range v.took {
				truth.Note(hour, took)
			}
		}
		left, known := truth.Left(hour, v.ran)
		got := model.Span{Least: left.Least.Round(minute), Usual: left.Usual.Round(minute), Most: left.Most.Round(minute)}
		if !known || got != v.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, known, v.want)
		}
		if half, _ := truth.Left(hour/2, v.ran/2); half.Usual.Round(minute) != (left.Usual / 2).Round(minute) {
			t.Errorf("%s: of half as long %+v, of all %+v", name, half, left)
		}
	}
}

// A correction takes some runs, and some that have taken as long already.
func TestTruthIsKnownOfSome(t *testing.T) {
	var truth model.Truth
	for range 8 {
		if _, known := truth.Left(time.Hour, 0); known {
			t.Fatal("known of too few")
		}
		truth.Note(time.Hour, time.Hour)
	}
	if _, known := truth.Left(time.Hour, 0); !known {
		t.Error("not known of eight")
	}
	if _, known := truth.Left(time.Hour, 2*time.Hour); known {
		t.Error("known, and none took so long")
	}
	for range 1000 {
		truth.Note(time.Hour, time.Minute)
	}
	if left, _ := truth.Left(time.Hour, 0); left.Most > 2*time.Minute {
		t.Errorf("what is old still counts: %+v", left)
	}
}

// Whatever the estimates and run times, what is left is in order and never negative.
func TestTruthOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Uint64Range(0, uint64(model.MaxDuration)).Draw(t, "d") >> rapid.IntRange(0, 40).Draw(t, "shorter"))
		})
		var truth model.Truth
		for range rapid.IntRange(8, 1200).Draw(t, "runs") {
			truth.Note(span.Draw(t, "said"), span.Draw(t, "took"))
		}
		left, known := truth.Left(span.Draw(t, "of which was said"), span.Draw(t, "ran"))
		if left.Least < 0 || left.Least > left.Usual || left.Usual > left.Most || known && left.Most == 0 {
			t.Fatalf("%+v", left)
		}
	})
}
