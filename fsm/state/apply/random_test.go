package apply

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/digest"
)

// verify checks the state after an entry and the move to it.
func verify(t tester, checks Checks, before, after state.State, e logEntry, o outcome) {
	t.Helper()
	b, is := o.commands[0].Body.(*command.Inventory)
	if is && len(o.commands) == 1 && o.commands[0].RequestID == "" && Redundant(&before, b) && o.results[0].OK() { // a request id is remembered
		was, is := before.Fingerprint.Sums, after.Fingerprint.Sums
		was[1], is[1] = digest.Sum{}, digest.Sum{} // the settings hold the clock
		if was != is {
			t.Fatalf("entry %d: an inventory that was called redundant changed a table: %+v", e.Index, b)
		}
	}
	if err := cmp.Or(checks.State(&after), checks.Move(&before, &after)); err != nil {
		for i := range o.commands {
			t.Logf("command %d of entry %d: %s %+v -> %s %s", i, e.Index, o.commands[i].Kind(), o.commands[i].Body,
				o.results[i].Code, o.results[i].Detail)
		}
		t.Fatalf("after entry %d: %v", e.Index, err)
	}
}

// ShortHistories plays histories from rapid, which shrinks one that fails.
func ShortHistories(t *testing.T, checks Checks) {
	rapid.Check(t, func(t *rapid.T) {
		write(t, newGen(rapidDice{t}), state.State{}, 40, func(before, after state.State, e logEntry, o outcome) {
			verify(t, checks, before, after, e, o)
		})
	})
}

// LongHistories reach what short ones do not: many attempts of a task, restores,
// retired jobs. Every kind of command must have been carried out and, where that
// can be, refused, or the generator is worth nothing.
func LongHistories(t *testing.T, checks Checks) {
	const histories = 4
	tallies := make([]map[command.Kind]map[model.Code]int, histories)
	t.Run("", func(t *testing.T) {
		for i := range histories {
			tallies[i] = map[command.Kind]map[model.Code]int{}
			t.Run("", func(t *testing.T) {
				t.Parallel()
				write(t, newGen(seeded(uint64(i))), state.State{}, raceScale(4500), func(before, after state.State, e logEntry, o outcome) {
					verify(t, checks, before, after, e, o)
					for n := range o.results {
						note(tallies[i], o.commands[n].Kind(), o.results[n].Code)
					}
				})
			})
		}
	})
	if underRace || testing.Short() {
		return
	}
	sum := map[command.Kind]map[model.Code]int{}
	for _, tally := range tallies {
		for k, codes := range tally {
			for code, n := range codes {
				for range n {
					note(sum, k, code)
				}
			}
		}
	}
	kinds := command.Kinds()
	slices.Sort(kinds)
	for _, k := range kinds {
		t.Logf("%-18s %v", k, sum[k])
		if sum[k][model.CodeOK] == 0 {
			t.Errorf("no %s command was carried out", k)
		}
		if refusable(k) && len(sum[k]) < 2 {
			t.Errorf("no %s command was refused", k)
		}
	}
}

func note(tally map[command.Kind]map[model.Code]int, k command.Kind, code model.Code) {
	if tally[k] == nil {
		tally[k] = map[model.Code]int{}
	}
	tally[k][code]++
}

// refusable leaves out what a valid command of a bootstrapped cluster always does.
func refusable(k command.Kind) bool {
	return !slices.Contains([]command.Kind{
		command.KindRestored, command.KindResume, command.KindAdvanceClock, command.KindSetRunning, command.KindSetPolicy,
		command.KindSetRetention, command.KindSetLimit, command.KindSetPeer, command.KindDropPeer, command.KindRenew,
		command.KindExpireClaims, command.KindExpireAllocations, command.KindSetTuning, command.KindSetWeight, command.KindSteer,
		command.KindSettle, command.KindOverdue, command.KindSetPools, command.KindSetDefaults,
		command.KindRevokeCertificate, command.KindTurnBookings, command.KindSetBookingCaps,
		command.KindSetWebhook, command.KindMarkDeliveries, command.KindSetNotify, command.KindNearLimit,
	}, k)
}

// The generator knows every kind.
func TestGeneratorKnowsEveryKind(t *testing.T) {
	var known []command.Kind
	for _, m := range makers {
		known = append(known, m.kind)
	}
	slices.Sort(known)
	kinds := command.Kinds()
	slices.Sort(kinds)
	if !slices.Equal(known, kinds) {
		t.Errorf("makers for %v, kinds are %v", known, kinds)
	}
}

// The same request again changes nothing but the clock, the index and the trail, and gets
// the first answer.
func TestSameRequestTwice(t *testing.T) {
	repeated := 0
	g := newGen(seeded(11))
	write(t, g, state.State{}, raceScale(2000), func(before, after state.State, e logEntry, o outcome) {
		for i, c := range o.commands {
			past, found := after.Request(c.Actor, c.RequestID)
			if c.RequestID == "" || !found || past.Body != c.BodyHash() {
				continue
			}
			repeated++
			again := encode(t, after.Index+1, after.Settings().Clock, []command.Command{c})
			next, o := again.apply(t, after)
			want := command.Result{Job: past.Job, Number: past.Number}
			if got := o.results[0]; !sameResult(got, want) {
				t.Fatalf("entry %d, command %d: answered %+v, remembered is %+v", e.Index, i, got, want)
			}
			if name := besideTheTrail(&after, &next); name != "" || o.changes.Topics != 0 {
				t.Fatalf("entry %d, command %d, sent again: it changed %s, topics %b", e.Index, i, name, o.changes.Topics)
			}
		}
	})
	if repeated == 0 {
		t.Fatal("no request was repeated")
	}
}

func sameResult(a, b command.Result) bool {
	return a.Code == b.Code && a.Job == b.Job && a.Number == b.Number && a.Detail == b.Detail
}
