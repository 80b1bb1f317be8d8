package queue

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
)

func accountWith(used, shares int64, waits time.Duration) *account {
	return &account{used: used, shares: shares, waits: waits}
}

// What was used is due in proportion to shares, and what those leave who want no more is due to the others.
func TestWhatIsDue(t *testing.T) {
	const day = 24 * time.Hour
	for name, v := range map[string]struct {
		all  []*account
		want []uint64 // percent of what is due
	}{
		"no account has used anything":     {[]*account{accountWith(0, 100, 0), accountWith(0, 100, day)}, []uint64{100, 100}},
		"both want more":                   {[]*account{accountWith(30, 100, day), accountWith(10, 100, day)}, []uint64{150, 50}},
		"who has used nothing wants more":  {[]*account{accountWith(40, 100, 0), accountWith(0, 100, day)}, []uint64{200, 0}},
		"by their shares":                  {[]*account{accountWith(30, 300, day), accountWith(10, 100, day)}, []uint64{100, 100}},
		"the lesser wants no more":         {[]*account{accountWith(30, 100, day), accountWith(10, 100, 0)}, []uint64{100, 33}},
		"the greater wants no more":        {[]*account{accountWith(30, 100, 0), accountWith(10, 100, day)}, []uint64{150, 50}},
		"two want more and one is content": {[]*account{accountWith(10, 100, 0), accountWith(20, 100, day), accountWith(40, 100, day)}, []uint64{33, 67, 133}},
		"idle ones do not thin what is due": {
			[]*account{accountWith(1, 100, 0), accountWith(0, 100, 0), accountWith(50, 100, day), accountWith(50, 100, day)},
			[]uint64{2, 0, 100, 100},
		},
		"one who leaves lets another be content": {[]*account{accountWith(0, 100, 0), accountWith(30, 100, 0), accountWith(60, 100, day)}, []uint64{0, 50, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			settle(v.all)
			for i, a := range v.all {
				if got := (a.part*100 + whole/2) / whole; got != v.want[i] {
					t.Errorf("account %d has had %d%% of what is due, want %d%%", i, got, v.want[i])
				}
			}
		})
	}
}

// Accounts that want more are due equal parts by their shares, no account that wants no more is due less than
// what it has had, and all that was used is due to some account.
func TestDuesAreMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*account
		var used int64
		for range rapid.IntRange(1, 8).Draw(t, "accounts") {
			a := accountWith(rapid.Int64Range(0, 1000).Draw(t, "used")*3600, rapid.Int64Range(1, 10_000).Draw(t, "shares"), 0)
			if rapid.Bool().Draw(t, "waits") {
				a.waits = time.Hour
			}
			all, used = append(all, a), used+a.used
		}
		settle(all)
		if used == 0 {
			return
		}
		var level, had, shares float64 // what is due to one share, of those who are due as much as others
		for _, a := range all {
			if a.waits > 0 || a.part >= whole {
				had, shares = had+float64(a.used), shares+float64(a.shares)
			}
		}
		level = had / shares
		for i, a := range all {
			want := float64(a.used) / float64(a.shares) / level
			if got := float64(a.part) / whole; got < mostPart/fair && (got > want+0.001*(1+want) || got < want-0.001*(1+want)) {
				t.Fatalf("account %d of %d shares that used %d has had %.4f of what is due, want %.4f", i, a.shares, a.used, got, want)
			}
		}
	})
}

// A lead grows with what was not had of what is due, with the weight of shares, and by a doubling
// for each day of waiting; others are moved back by no more than that.
func TestLead(t *testing.T) {
	const hour = time.Hour
	user := func(percent uint64, waits time.Duration) *account {
		return &account{part: percent * whole / 100, waits: waits}
	}
	for name, v := range map[string]struct {
		weight uint32
		all    []*account
		want   []lead
	}{
		"all have had what is due":        {100, []*account{user(100, hour), user(100, hour)}, []lead{0, 0}},
		"who does not wait wants nothing": {100, []*account{user(50, 0), user(150, 100*hour)}, []lead{0, 0}},
		"a day of waiting":                {100, []*account{user(50, 24*hour), user(150, 100*hour)}, []lead{16, -16}},
		"a percent of what is due":        {100, []*account{user(99, 100*hour), user(101, hour)}, []lead{32, -31}},
		"a weight of a half":              {50, []*account{user(99, 100*hour), user(101, hour)}, []lead{16, -15}},
		"no weight":                       {0, []*account{user(0, 100*hour), user(200, hour)}, []lead{0, 0}},
		"a month of waiting":              {100, []*account{user(0, 720*hour), user(200, 0)}, []lead{112, -112}},
		"who waits longest counts":        {100, []*account{user(50, 24*hour), user(60, 48*hour), user(190, hour)}, []lead{16, 32, -32}},
	} {
		t.Run(name, func(t *testing.T) {
			tuning := model.DefaultTuning()
			tuning.ShareWeight = v.weight
			leads(v.all, &tuning)
			for i, u := range v.all {
				if u.lead != v.want[i] {
					t.Errorf("user %d leads by %d sixteenths of doublings, want %d", i, u.lead, v.want[i])
				}
			}
		})
	}
}

// A task that has waited long is moved back less, and never behind one that it was ahead of: within a run the
// order stays that of the log.
func TestWhoHasWaitedIsMovedBackLess(t *testing.T) {
	tuning := model.DefaultTuning()
	bound := uint64(tuning.WaitBound / time.Second)
	for waited, want := range map[uint64]uint64{0: 1 << 12, bound: 26_008, bound * 3 / 2: 1 << 16, bound * 9: 1 << 16} {
		if got := lead(-4*doubling).move(1<<16, waited, &tuning); got < want*97/100 || got > want*103/100 {
			t.Errorf("after %d s a score of 65536 is %d, want %d", waited, got, want)
		}
	}
	if got := lead(4*doubling).move(1<<16, bound, &tuning); got != 1<<20 {
		t.Errorf("a lead of four doublings makes a score of 65536 %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		by, w := lead(rapid.IntRange(-mostLead, 0).Draw(t, "lead")), rapid.Uint64Range(60, admission.LongestSeconds).Draw(t, "waited")
		if a, b := by.move(w*w, w, &tuning), by.move((w+1)*(w+1), w+1, &tuning); a > b {
			t.Fatalf("with a lead of %d who has waited %d s scores %d, a second later %d", by, w, a, b)
		}
	})
}
