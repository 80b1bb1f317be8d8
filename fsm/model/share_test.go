package model

import (
	"math"
	"testing"
	"time"
)

// What was used loses half its weight in a half-life; what is held counts as it
// runs, and decays as it ages.
func TestUseDecays(t *testing.T) {
	const day = 24 * time.Hour
	near := func(got int64, want float64) bool { return math.Abs(float64(got)-want) <= 1+want/1000 }
	for age := range 60 {
		d := time.Duration(age) * 11 * time.Hour
		x := float64(d) / float64(7*day)
		past := Share{Used: 1_000_000, At: 5}
		if got, want := past.UsedAt(past.At.Add(d), 7*day), 1e6*math.Exp2(-x); !near(got, want) {
			t.Errorf("after %s %d s are left, want %.0f", d, got, want)
		}
		held := Share{GPUs: 8, At: 5}
		want := 8 * 7 * 86400 / math.Ln2 * (1 - math.Exp2(-x))
		if got := held.UsedAt(held.At.Add(d), 7*day); !near(got, want) {
			t.Errorf("8 GPUs for %s are %d s, want %.0f", d, got, want)
		}
	}
	if got := (Share{Used: 5, At: 100, GPUs: 1}).UsedAt(50, day); got != 5 {
		t.Errorf("before its own time a share is %d", got)
	}
	for _, halfLife := range []time.Duration{time.Hour, MaxDuration} {
		huge := Share{Used: math.MaxInt64, GPUs: math.MaxUint32, Rest: math.MaxUint32}
		for _, d := range []time.Duration{1, time.Hour - 1, time.Hour, 63 * time.Hour, 64 * time.Hour, math.MaxInt64} {
			if got := huge.UsedAt(Time(d), halfLife); got < 0 || got > 1<<62 {
				t.Errorf("a huge share is %d after %s", got, d)
			}
		}
	}
}

// However often a share is brought up to date, what is used and what decays comes to the same.
func TestUseIsTheSameHoweverOftenItIsCounted(t *testing.T) {
	const gpus = 7
	for _, halfLife := range []time.Duration{time.Hour, 7 * 24 * time.Hour, MaxDuration} {
		for _, every := range []time.Duration{13 * time.Millisecond, 700 * time.Millisecond, 5 * time.Second, 9 * time.Second, 10 * time.Minute} {
			s, n := Share{Used: 1_000_000, GPUs: gpus}, 20_000
			for i := range n {
				s = s.Aged(Time(every)*Time(i+1), halfLife)
			}
			d := every * time.Duration(n)
			left := math.Exp2(-float64(d) / float64(halfLife))
			want := 1e6*left + gpus*halfLife.Seconds()/math.Ln2*(1-left)
			if once := (Share{Used: 1_000_000, GPUs: gpus}).UsedAt(Time(d), halfLife); math.Abs(float64(s.Used-once)) > 1 ||
				math.Abs(float64(once)-want) > 1+want/1e6 {
				t.Errorf("half-life %s, every %s: %d GPU-seconds, counted at once %d, exactly %.1f", halfLife, every, s.Used, once, want)
			}
		}
	}
}
