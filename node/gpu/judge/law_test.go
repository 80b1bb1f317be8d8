package judge

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
)

// readings draws what a bad GPU may tell.
func readings() *rapid.Generator[Reading] {
	return rapid.Custom(func(t *rapid.T) Reading {
		in := well()
		in.Temperature = rapid.Int16Range(78, 98).Draw(t, "temperature")
		in.Trouble = rapid.SampledFrom([]Trouble{
			TroubleNone, TroubleNone, TroubleNone, TroubleNone, TroubleSilent, TroubleError, TroubleReset,
			TroubleLost,
		}).Draw(t, "trouble")
		in.Recovery = rapid.SampledFrom([]Recovery{RecoveryNone, RecoveryNone, RecoveryNone, RecoveryUnknown, RecoveryReset}).Draw(t, "recovery")
		in.Leftover = rapid.Bool().Draw(t, "leftover")
		in.Remap.Pending = rapid.Bool().Draw(t, "pending")
		if rapid.Bool().Draw(t, "stranger") {
			in.Strangers, in.Idle = []Stranger{{PID: rapid.Int32Range(1, 9).Draw(t, "pid")}}, false
		}
		if code := rapid.Uint64Range(0, 400).Draw(t, "xid"); code < 160 {
			in.Xids = []Xid{{Code: code}}
		}
		return in
	})
}

// pause draws the time between two readings.
func pause(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(0, 20_000).Draw(t, "pause")) * time.Millisecond
}

// A cause that counts does so for as long as it takes to settle at least, and one
// that may pass counts only after it was seen for as long as it takes to rise.
func TestNothingFlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Defaults()
		var r Record
		var turned [causes]time.Time
		now := time.Unix(1_700_000_000, 0)
		for range rapid.IntRange(2, 60).Draw(t, "readings") {
			now = now.Add(pause(t))
			before := r
			r, _ = c.Next(r, now, readings().Draw(t, "reading"))
			for i := range r.states {
				if r.states[i].On == before.states[i].On {
					continue
				}
				if r.states[i].On {
					turned[i] = now
				} else if now.Sub(turned[i]) < c.Settle {
					t.Fatalf("cause %d counted for %s only", i, now.Sub(turned[i]))
				}
			}
		}
	})
}

// What is never seen for as long as it takes to rise never counts.
func TestShortCausesDoNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Defaults()
		var r Record
		now := time.Unix(1_700_000_000, 0)
		for range rapid.IntRange(2, 60).Draw(t, "episodes") {
			episode := rapid.SampledFrom([]Reading{
				with(func(r *Reading) { r.Temperature = 99 }), with(func(r *Reading) { r.Trouble = TroubleError }),
				with(func(r *Reading) { r.Trouble = TroubleLost }), with(func(r *Reading) { r.Strangers = []Stranger{{PID: 3}} }),
			}).Draw(t, "episode")
			for _, at := range []time.Duration{0, time.Duration(rapid.Int64Range(0, int64(c.Rise)-1).Draw(t, "lasts"))} {
				r, _ = c.Next(r, now.Add(at), episode)
			}
			now = now.Add(c.Rise)
			r, _ = c.Next(r, now, well())
			if v := r.Verdict(); v.Health != model.HealthHealthy {
				t.Fatalf("after an episode of less than %s: %+v", c.Rise, v)
			}
		}
	})
}

// A GPU's verdict is the same whatever happens to its neighbour.
func TestNeighboursDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Defaults()
		var alone, beside, neighbour Record
		now := time.Unix(1_700_000_000, 0)
		for range rapid.IntRange(1, 40).Draw(t, "readings") {
			now = now.Add(pause(t))
			in := readings().Draw(t, "reading")
			alone, _ = c.Next(alone, now, in)
			neighbour, _ = c.Next(neighbour, now, readings().Draw(t, "neighbour's reading"))
			beside, _ = c.Next(beside, now, in)
			if a, b := alone.Verdict(), beside.Verdict(); a != b {
				t.Fatalf("alone %+v, next to another %+v", a, b)
			}
		}
	})
}

// A quarantine for a fault is never lifted sooner than after the time of a retest.
func TestFaultsLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Defaults()
		var r Record
		var struck time.Time
		now := time.Unix(1_700_000_000, 0)
		for range rapid.IntRange(1, 200).Draw(t, "readings") {
			now = now.Add(5 * pause(t))
			in := well()
			if rapid.IntRange(0, 20).Draw(t, "fault") == 0 {
				in.Xids, struck = []Xid{{Code: 48}}, now
			}
			r, _ = c.Next(r, now, in)
			if sick := r.Verdict().Health == model.HealthQuarantined; !sick && !struck.IsZero() && now.Sub(struck) < c.Retest {
				t.Fatalf("lifted after %s", now.Sub(struck))
			}
		}
	})
}
