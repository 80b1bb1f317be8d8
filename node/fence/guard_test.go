package fence_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// frozen is T 300 s, K 30 s, and a fence that begins 40 s before the expiry.
func frozen(onLost model.OnLost) model.Frozen {
	return model.Frozen{
		OnLost: onLost, T: 300 * time.Second, Kill: 30 * time.Second,
		Grace: 20 * time.Second, CheckpointGrace: 10 * time.Second, DriftPPM: model.DriftPPM, Margin: 6 * time.Second,
	}
}

func TestDeadline(t *testing.T) {
	got, bounded := fence.Deadline(at(100), frozen(model.OnLostRequeue))
	if want := (fence.Fence{Stop: at(360), Kill: at(390), Expiry: at(400)}); got != want || !bounded {
		t.Errorf("Deadline is %v, %v, want %v", got, bounded, want)
	}
	if _, bounded := fence.Deadline(at(100), frozen(model.OnLostFail)); !bounded {
		t.Error("an attempt that fails when lost has no expiry")
	}
	if _, bounded := fence.Deadline(at(100), frozen(model.OnLostHold)); bounded {
		t.Error("a held attempt has an expiry")
	}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		now  fence.Boot
		want fence.Verdict
	}{
		{at(100), fence.Run},
		{at(360) - 1, fence.Run},
		{at(360), fence.Stop},
		{at(390) - 1, fence.Stop},
		{at(390), fence.Kill},
		{at(4000), fence.Kill},
	} {
		if got := fence.Judge(test.now, at(100), frozen(model.OnLostRequeue)); got != test.want {
			t.Errorf("at %v: %v, want %v", test.now, got, test.want)
		}
		if got := fence.Judge(test.now, at(100), frozen(model.OnLostHold)); got != fence.Run {
			t.Errorf("held, at %v: %v", test.now, got)
		}
	}
}

func TestMayStart(t *testing.T) {
	// Until then a fence and 10 s are left of the lease; an attempt that is held has no fence.
	last := map[model.OnLost]fence.Boot{model.OnLostRequeue: at(350), model.OnLostFail: at(350), model.OnLostHold: at(390)}
	for onLost, last := range last {
		for _, test := range []struct {
			now, start fence.Boot
			want       bool
		}{
			{now: at(5), start: 0, want: false}, // no lease
			{now: at(100), start: at(100), want: true},
			{now: last - 1, start: at(100), want: true},
			{now: last, start: at(100), want: false},
			{now: at(900), start: at(100), want: false},
		} {
			if got := fence.MayStart(test.now, test.start, frozen(onLost)); got != test.want {
				t.Errorf("%v, start %v, at %v: %v", onLost, test.start, test.now, got)
			}
		}
	}
}

// Every job that is accepted can start: under a lease as old as one can be on a node in contact, its attempts may begin, and
// their supervisors do not begin their fence then.
func TestWhatIsAcceptedMayStart(t *testing.T) {
	const renewals = 8 * time.Second // an agent renews every 2 s; some answers may be late
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most/time.Second)).Draw(t, name)) * time.Second
		}
		s := model.Spec{
			User: "anna", Project: "vision", Command: "true", GPUs: 1, Class: model.ClassNormal, Priority: 5, StopSignal: "TERM",
			OnLost: rapid.SampledFrom([]model.OnLost{model.OnLostRequeue, model.OnLostHold, model.OnLostFail}).Draw(t, "on lost"),
			DisconnectGrace: rapid.OneOf(rapid.SampledFrom([]time.Duration{
				model.MinDisconnectGrace, model.DefaultDisconnectGrace, model.MaxDisconnectGrace,
			}), rapid.Custom(func(*rapid.T) time.Duration { return seconds("T", model.MaxDisconnectGrace) })).Draw(t, "disconnect grace"),
			Grace: seconds("grace", rapid.SampledFrom([]time.Duration{time.Minute, model.MaxGrace}).Draw(t, "graces")), TimeLimit: seconds("time limit", time.Hour),
			CheckpointGrace: seconds("checkpoint grace", rapid.SampledFrom([]time.Duration{time.Minute, model.MaxDisconnectGrace}).Draw(t, "checkpoint graces")),
		}
		if s.Validate() != nil {
			t.Skip()
		}
		f, now := s.Freeze(), at(100).Add(renewals)
		if !fence.MayStart(now, at(100), f) || fence.Judge(now, at(100), f) != fence.Run {
			t.Fatalf("never starts: %+v", f)
		}
	})
}

func TestGuardExtends(t *testing.T) {
	g := fence.NewGuard(at(100), frozen(model.OnLostRequeue))
	if !g.Extend(at(350), at(340)) || g.Extend(at(351), at(200)) {
		t.Error("a newer start must extend, an older one must not")
	}
	if f, _ := g.Deadline(); f.Expiry != at(640) {
		t.Errorf("expiry %v", f.Expiry)
	}
	if v := g.Verdict(at(400)); v != fence.Run {
		t.Errorf("extended, and %v", v)
	}
}

func TestGuardGoesOnWithAFenceThatHasBegun(t *testing.T) {
	seen := fence.NewGuard(at(100), frozen(model.OnLostRequeue))
	seen.Verdict(at(360))
	missed := fence.NewGuard(at(100), frozen(model.OnLostRequeue)) // no look at the time when it should have begun
	for name, g := range map[string]fence.Guard{"seen": seen, "missed": missed} {
		if g.Extend(at(365), at(364)) {
			t.Errorf("%s: an attempt was revived", name)
		}
		if v := g.Verdict(at(366)); v != fence.Stop {
			t.Errorf("%s: %v within the fence", name, v)
		}
		if v := g.Verdict(at(390)); v != fence.Kill {
			t.Errorf("%s: %v at its end", name, v)
		}
	}
}

func TestGuardNeverRevives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frozen(rapid.SampledFrom([]model.OnLost{1, 2, 3}).Draw(t, "on lost"))
		now, start, worst := at(100), at(100), fence.Run
		g := fence.NewGuard(start, f)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "pass")) * time.Second)
			if rapid.Bool().Draw(t, "extend") {
				start = at(rapid.IntRange(0, int(now.Sub(0)/time.Second)).Draw(t, "start"))
				before, _ := g.Deadline()
				g.Extend(now, start)
				if after, _ := g.Deadline(); after.Expiry < before.Expiry || worst != fence.Run && after != before {
					t.Fatalf("the fence moved from %v to %v", before, after)
				}
			}
			v := g.Verdict(now)
			if v < worst || f.OnLost == model.OnLostHold && v != fence.Run {
				t.Fatalf("%v after %v", v, worst)
			}
			if e, bounded := g.Deadline(); bounded && now >= e.Kill && v != fence.Kill {
				t.Fatalf("%v at %v, though %v", v, now, e)
			}
			worst = v
		}
	})
}

func TestMustFreeze(t *testing.T) {
	base := fence.Reading{Boot: at(100), Real: model.Time(50 * time.Hour)}
	for name, test := range map[string]struct {
		boot, real time.Duration // since base
		t          time.Duration
		want       bool
	}{
		"steady":                 {time.Second, time.Second, 300 * time.Second, false},
		"wall clock gains 2 s":   {time.Second, 3 * time.Second, 300 * time.Second, false},
		"wall clock gains more":  {time.Second, 3*time.Second + 1, 300 * time.Second, true},
		"wall clock falls back":  {time.Second, -time.Hour, 300 * time.Second, false},
		"late by half of T":      {150 * time.Second, 150 * time.Second, 300 * time.Second, false},
		"late by more":           {150*time.Second + 1, 150 * time.Second, 300 * time.Second, true},
		"late, with no attempts": {time.Hour, time.Hour, 0, false},
		"jump, with no attempts": {time.Second, time.Hour, 0, true},
		"boot clock rolled back": {-1, -1, 300 * time.Second, true},
	} {
		after := fence.Reading{Boot: base.Boot.Add(test.boot), Real: base.Real.Add(test.real)}
		if got := fence.MustFreeze(base, after, test.t); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMayThaw(t *testing.T) {
	since := at(100)
	for name, test := range map[string]struct {
		now, start fence.Boot
		wanted     bool
		onLost     model.OnLost
		want       bool
	}{
		"renewed and wanted":          {at(103), at(102), true, model.OnLostRequeue, true},
		"renewed before only":         {at(103), at(99), true, model.OnLostRequeue, false},
		"renewed, wanted not yet":     {at(103), at(102), false, model.OnLostRequeue, false},
		"not renewed for long":        {at(300), at(99), true, model.OnLostRequeue, false},
		"held, renewed and wanted":    {at(103), at(102), true, model.OnLostHold, true},
		"held, no answer":             {at(103), at(99), false, model.OnLostHold, false},
		"held, no answer for its K":   {at(130), at(99), false, model.OnLostHold, true},
		"fails when lost, no answer":  {at(130), at(99), false, model.OnLostFail, false},
		"fails when lost, but wanted": {at(103), at(102), true, model.OnLostFail, true},
	} {
		if got := fence.MayThaw(test.now, since, test.start, test.wanted, frozen(test.onLost)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSets(t *testing.T) {
	set := func(inc byte, index, epoch uint64) *model.Desired {
		return &model.Desired{Incarnation: incarnation(inc), Node: "n1", Index: index, Epoch: epoch}
	}
	var s fence.Sets
	reg := registration(5)
	for _, step := range []struct {
		why  string
		set  *model.Desired
		want bool
	}{
		{"the first", set(1, 100, 5), true},
		{"the same again", set(1, 100, 5), true},
		{"an older one", set(1, 99, 5), false},
		{"of an earlier epoch", set(1, 110, 4), false},
		{"older than that", set(1, 105, 5), false},
		{"of a later epoch", set(1, 120, 6), false},
		{"of another past", set(2, 500, 5), false},
		{"for another node", &model.Desired{Incarnation: incarnation(1), Node: "n2", Index: 700, Epoch: 5}, false},
		{"a newer one", set(1, 130, 5), true},
	} {
		if got := s.Accept(reg, step.set); got != step.want {
			t.Errorf("%s: %v", step.why, got)
		}
	}
	if inc, index := s.Newest(); inc != incarnation(1) || index != 130 {
		t.Errorf("newest is %v, %d", inc, index)
	}
	restored := fence.Registration{Incarnation: incarnation(2), Node: "n1", Epoch: 1}
	if !s.Accept(restored, set(2, 7, 1)) || s.Accept(restored, set(1, 140, 5)) {
		t.Error("after a restore the sets of the new incarnation count, and no others")
	}
}
