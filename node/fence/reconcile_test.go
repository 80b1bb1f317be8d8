package fence_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

func rank(job, r int) model.RankKey {
	return model.RankKey{Job: model.JobID(job), N: 1, Rank: uint32(r)}
}

func slot(gpu string) model.SlotKey { return model.SlotKey{GPU: model.GPUID(gpu)} }

// Fixtures of the tables: rank 7/0 of incarnation 1, placed at 50, in a set of
// index 100.
const (
	taken, ready, running = model.RankTaken, model.RankReady, model.RankRunning
	exited, never, broken = model.RankExited, model.RankNever, model.RankAssigned
)

func local(phase model.RankPhase, change ...func(*fence.Local)) []fence.Local {
	l := fence.Local{Rank: rank(7, 0), Incarnation: incarnation(1), Placed: 50, Phase: phase}
	for _, f := range change {
		f(&l)
	}
	return []fence.Local{l}
}

func ofPast(l *fence.Local)      { l.Incarnation = incarnation(9) }
func placedLater(l *fence.Local) { l.Placed = 101 }
func stopping(r model.Reason) func(*fence.Local) {
	return func(l *fence.Local) { l.Stop = r }
}

func desired(run bool, stop model.Reason) *model.Desired {
	d := nothing()
	d.Ranks = []model.Assignment{{Rank: rank(7, 0), Placed: 50, Run: run, Stop: stop}}
	return d
}

func nothing(clean ...model.Cleaning) *model.Desired {
	return &model.Desired{Incarnation: incarnation(1), Node: "n1", Index: 100, Epoch: 5, Clean: clean}
}

func withClean(d *model.Desired, c model.Cleaning) *model.Desired {
	d.Clean = append(d.Clean, c)
	return d
}

// reconcileCase is what is desired, what is there, and what follows.
type reconcileCase struct {
	desired *model.Desired
	local   []fence.Local
	want    []fence.Action
}

func checkReconcile(t *testing.T, cases map[string]reconcileCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, fence.Reconcile(c.desired, c.local)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// act returns one action on rank 7/0 as incarnation 1 knows it, past as 9 does.
func act(do fence.Do) []fence.Action {
	return []fence.Action{{Do: do, Rank: rank(7, 0), Incarnation: incarnation(1)}}
}

func past(do fence.Do) []fence.Action {
	return []fence.Action{{Do: do, Rank: rank(7, 0), Incarnation: incarnation(9)}}
}

func stopFor(r model.Reason) []fence.Action {
	return []fence.Action{{Do: fence.DoStop, Rank: rank(7, 0), Incarnation: incarnation(1), Reason: r}}
}

func TestReconcileNamed(t *testing.T) {
	checkReconcile(t, map[string]reconcileCase{
		"new, gate open":          {desired(true, 0), nil, act(fence.DoStart)},
		"new, gate closed":        {desired(false, 0), nil, act(fence.DoPrepare)},
		"new, to be stopped":      {desired(true, model.ReasonCancel), nil, act(fence.DoRefuse)},
		"start broke off":         {desired(true, 0), local(broken), act(fence.DoRefuse)},
		"phase unknown":           {desired(true, 0), local(200), act(fence.DoRefuse)},
		"prepares":                {desired(false, 0), local(taken), nil},
		"prepares, gate open":     {desired(true, 0), local(taken), nil},
		"prepares, to be stopped": {desired(false, model.ReasonPreempt), local(taken), act(fence.DoRefuse)},
		"ready":                   {desired(false, 0), local(ready), nil},
		"ready, gate open":        {desired(true, 0), local(ready), act(fence.DoRun)},
		"ready, to be stopped":    {desired(true, model.ReasonDrain), local(ready), act(fence.DoRefuse)},
		"runs":                    {desired(true, 0), local(running), nil},
		"runs, to be stopped":     {desired(true, model.ReasonPreempt), local(running), stopFor(model.ReasonPreempt)},
		"is being stopped":        {desired(true, model.ReasonPreempt), local(running, stopping(model.ReasonPreempt)), nil},
		"stop overruled":          {desired(true, model.ReasonCancel), local(running, stopping(model.ReasonPreempt)), stopFor(model.ReasonCancel)},
		"stop not overruled":      {desired(true, model.ReasonDrain), local(running, stopping(model.ReasonCancel)), nil},
		"exited, set older":       {desired(true, 0), local(exited), act(fence.DoReport)},
		"exited, to be stopped":   {desired(true, model.ReasonCancel), local(exited), act(fence.DoReport)},
		"never started":           {desired(true, 0), local(never), act(fence.DoReport)},
		"taken, folder lost":      {known(taken), nil, act(fence.DoRefuse)},
		"ready, folder lost":      {known(ready), nil, act(fence.DoRefuse)},
		"ran, folder lost":        {known(running), nil, act(fence.DoRefuse)},
	})
}

// known is the set with a rank that the state has in a phase.
func known(phase model.RankPhase) *model.Desired {
	d := desired(true, 0)
	d.Ranks[0].Phase = phase
	return d
}

func TestReconcileAbsentAndPast(t *testing.T) {
	checkReconcile(t, map[string]reconcileCase{
		"absent, runs":             {nothing(), local(running), act(fence.DoKill)},
		"absent, ready":            {nothing(), local(ready), act(fence.DoRefuse)},
		"absent, exited":           {nothing(), local(exited), nil},
		"absent, tombstone":        {nothing(), local(never), nil},
		"absent, set older":        {nothing(), local(running, placedLater), nil},
		"absent, of the past":      {nothing(), local(running, ofPast), nil},
		"of the past, known":       {desired(true, 0), local(running, ofPast), past(fence.DoAdopt)},
		"of the past, name reused": {desired(true, 0), local(running, ofPast, placedLater), act(fence.DoRefuse)},
		"of the past, refused already": {
			desired(true, 0), slices.Concat(local(running, ofPast), local(never)), act(fence.DoReport),
		},
	})
}

func TestReconcileClean(t *testing.T) {
	cleanRank := model.Cleaning{Slot: slot("g1"), Rank: rank(7, 0)}
	killRank := model.Cleaning{Slot: slot("g1"), Rank: rank(7, 0), Kill: true}
	cleaned := []fence.Action{{Do: fence.DoClean, Rank: rank(7, 0), Slot: slot("g1")}}
	checkReconcile(t, map[string]reconcileCase{
		"clean, no folder":             {nothing(cleanRank), nil, act(fence.DoRefuse)},
		"clean, tombstone":             {nothing(cleanRank), local(never), cleaned},
		"clean, exited":                {nothing(cleanRank), local(exited), cleaned},
		"clean, start broke off":       {nothing(cleanRank), local(broken), act(fence.DoRefuse)},
		"clean, runs":                  {nothing(cleanRank), local(running), act(fence.DoKill)},
		"clean, of the past, runs":     {nothing(cleanRank), local(running, ofPast), nil},
		"clean and kill, of the past":  {nothing(killRank), local(running, ofPast), past(fence.DoKill)},
		"clean and kill, ready":        {nothing(killRank), local(ready, ofPast), past(fence.DoRefuse)},
		"clean and kill, ended":        {nothing(killRank), local(exited, ofPast), cleaned},
		"clean and kill, twice a rank": {nothing(killRank, killRank), local(running), act(fence.DoKill)},
		"clean and kill, but desired":  {withClean(desired(true, 0), killRank), local(running), nil},
		"clean, but just assigned":     {withClean(desired(true, 0), cleanRank), nil, act(fence.DoStart)},
		"clean, desired but ended": {
			withClean(desired(true, 0), cleanRank), local(exited), slices.Concat(act(fence.DoReport), cleaned),
		},
		"clean an allocation's": {
			nothing(model.Cleaning{Slot: slot("g2"), Allocation: "a1"}), nil,
			[]fence.Action{{Do: fence.DoClean, Slot: slot("g2"), Allocation: "a1"}},
		},
	})
}

func TestReconcileEndsBeforeItBegins(t *testing.T) {
	d := desired(true, 0)
	d.Ranks = append(d.Ranks, model.Assignment{Rank: rank(3, 0), Placed: 60}, model.Assignment{Rank: rank(4, 0), Run: true})
	l := []fence.Local{
		{Rank: rank(9, 1), Incarnation: incarnation(1), Phase: running},
		{Rank: rank(4, 0), Incarnation: incarnation(1), Phase: ready},
		{Rank: rank(9, 0), Incarnation: incarnation(1), Phase: running},
	}
	var got []fence.Do
	begins := 0
	for _, a := range fence.Reconcile(d, l) {
		got = append(got, a.Do)
		if a.Do.Begins() {
			begins++
		}
	}
	want := []fence.Do{fence.DoKill, fence.DoKill, fence.DoRun, fence.DoStart, fence.DoPrepare}
	if !slices.Equal(got, want) || begins != 3 {
		t.Errorf("%v, %d of them begin something; want %v", got, begins, want)
	}
}

func TestReconcileAdoptsOneOfTwoPasts(t *testing.T) {
	a := fence.Local{Rank: rank(7, 0), Incarnation: incarnation(8), Placed: 50, Phase: running}
	b := fence.Local{Rank: rank(7, 0), Incarnation: incarnation(9), Placed: 50, Phase: running}
	want := []fence.Action{{Do: fence.DoAdopt, Rank: rank(7, 0), Incarnation: incarnation(8)}}
	for _, folders := range [][]fence.Local{{a, b}, {b, a}} {
		if diff := cmp.Diff(want, fence.Reconcile(desired(true, 0), folders)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestProgressAndCleaned(t *testing.T) {
	exit := model.Exit{Code: 3, Ran: 5}
	ended := local(exited, func(l *fence.Local) { l.Exit = exit })[0].Progress()
	if diff := cmp.Diff(model.Progress{Rank: rank(7, 0), Phase: exited, Exit: exit}, ended); diff != "" {
		t.Error(diff)
	}
	if p := local(never, func(l *fence.Local) { l.Exit = exit })[0].Progress(); p.Exit != (model.Exit{}) {
		t.Errorf("a rank that never started exited with %v", p.Exit)
	}
	a := fence.Action{Do: fence.DoClean, Rank: rank(7, 0), Slot: slot("g1"), Allocation: "a1"}
	if want := (model.Cleaned{Rank: rank(7, 0), Slot: slot("g1"), Allocation: "a1"}); a.Cleaned() != want {
		t.Errorf("%v", a.Cleaned())
	}
}
