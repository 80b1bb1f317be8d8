package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func theUser(name string) model.ScopeKey {
	return model.ScopeKey{Kind: model.ScopeUser, Name: name}
}

func theProject(name string) model.ScopeKey {
	return model.ScopeKey{Kind: model.ScopeProject, Name: name}
}

// adjust returns a change of one value of a limit, or of several.
func adjust(scope model.ScopeKey, pairs ...int64) *command.AdjustLimit {
	b := &command.AdjustLimit{Scope: scope}
	for i := 0; i < len(pairs); i += 2 {
		b.Set = append(b.Set, model.LimitValue{Of: model.LimitField(pairs[i]), Value: pairs[i+1]})
	}
	return b
}

// quota returns a change of a user's quota of GPU time: so many GPU-seconds in a day.
func quota(user string, seconds int64) *command.AdjustLimit {
	return adjust(theUser(user), int64(model.LimitGPUTime), seconds, int64(model.LimitPeriod), int64(24*time.Hour))
}

func owns(scope model.ScopeKey, gpus int64) *command.AdjustLimit {
	return adjust(scope, int64(model.LimitReserved), gpus)
}

func by(user, project string) func(*command.Submit) {
	return func(b *command.Submit) { b.Spec.User, b.Spec.Project = user, project }
}

func limited(d time.Duration) func(*command.Submit) {
	return func(b *command.Submit) { b.Spec.TimeLimit = d }
}

// A change of one value leaves the others; a removed value goes, and with the last one the row.
func TestAdjustLimit(t *testing.T) {
	l := running(t, 1)
	ann := theUser("ann")
	l.Do(adjust(ann, int64(model.LimitGPUs), 8, int64(model.LimitQueued), 100))
	l.Do(adjust(ann, int64(model.LimitLive), 0, int64(model.LimitQueued), model.Unlimited))
	l.Do(quota("ann", 3600))
	want := model.NoLimit(ann)
	want.GPUs, want.Live, want.GPUTime, want.Period = 8, 0, 3600, 24*time.Hour
	if got, _ := l.State.Limits.Get(ann); got != want {
		t.Errorf("ann has %+v, want %+v", got, want)
	}
	if err := adjust(ann, int64(model.LimitPeriod), int64(time.Minute)).Validate(); err == nil {
		t.Error("a period of a minute is allowed")
	}
	wantCode(t, l.Try(adjust(theUser("bob"), int64(model.LimitGPUTime), 60)), model.CodeInvalid)
	wantCode(t, l.Try(adjust(theUser("bob"), int64(model.LimitOver), 1)), model.CodeInvalid)
	wantCode(t, l.Try(owns(model.ScopeKey{Kind: model.ScopeCluster}, 4)), model.CodeInvalid)
	l.Do(adjust(ann, int64(model.LimitGPUs), model.Unlimited, int64(model.LimitLive), model.Unlimited))
	l.Do(adjust(ann, int64(model.LimitGPUTime), model.Unlimited))
	if l.State.Limits.Len() != 0 || l.State.Accounts.Len() != 0 {
		t.Errorf("%d limits and %d accounts are left", l.State.Limits.Len(), l.State.Accounts.Len())
	}
}

// Each user without a number of GPUs is bound by the cluster's default, also with other limits; an own limit
// counts instead, and once either is removed the other does.
func TestDefaultOfUsers(t *testing.T) {
	l := running(t, 2)
	l.Node("n3", 8)
	whole := model.ScopeKey{Kind: model.ScopeCluster}
	place := func(user string, want model.Code) command.Result {
		t.Helper()
		id := l.Submit(1, by(user, ""))
		r := l.Try(l.Placement(model.TaskKey{Job: id}))
		wantCode(t, r, want)
		return r
	}
	l.Do(adjust(theUser("alice"), int64(model.LimitLive), 10))
	l.Do(adjust(whole, int64(model.LimitUserGPUs), 2))
	if r := place("alice", model.CodeLimit); r.Detail != "user alice may use 2 GPUs, the default of users (gpus_per_user of the cluster), "+
		"uses 2, and this needs 1: wait until some are given back, or have gpus of user alice set" {
		t.Errorf("she is told %q", r.Detail)
	}
	place("bob", model.CodeOK)
	place("bob", model.CodeOK)
	place("bob", model.CodeLimit)
	l.Do(adjust(theUser("alice"), int64(model.LimitGPUs), 3))
	place("alice", model.CodeOK)
	place("alice", model.CodeLimit)
	l.Do(adjust(theUser("bob"), int64(model.LimitGPUs), 0))
	place("bob", model.CodeLimit)
	l.Do(adjust(theUser("bob"), int64(model.LimitGPUs), model.Unlimited))
	place("bob", model.CodeLimit)
	l.Do(adjust(whole, int64(model.LimitUserGPUs), model.Unlimited))
	place("bob", model.CodeOK)
	if l.State.Limits.Has(whole) || l.State.Limits.Has(theUser("bob")) {
		t.Error("lifted limits are kept")
	}
	for _, scope := range []model.ScopeKey{theUser("bob"), theProject("vision")} {
		wantCode(t, l.Try(adjust(scope, int64(model.LimitUserGPUs), 2)), model.CodeInvalid)
	}
}

// CheckStep names a placement beyond the default.
func TestCheckNamesWhatIsBeyondTheDefault(t *testing.T) {
	l := running(t, 2)
	l.Do(adjust(model.ScopeKey{Kind: model.ScopeCluster}, int64(model.LimitUserGPUs), 2))
	before := l.State
	after := before
	after.Index++
	statetest.Put(&after.Usage, theUser("alice"), func(u *model.Usage) { u.GPUs++ })
	if err := check.Step(&before, &after); !statetest.Names(err, check.WithinLimits) {
		t.Errorf("CheckStep says %v", err)
	}
}

// A job that asks for more time than is allowed is refused; one that asks for none gets what is allowed, also
// if it came before the limit; no job is extended beyond it.
func TestRunTime(t *testing.T) {
	l := running(t, 1)
	before, long := l.Submit(1), l.Submit(1, limited(3*time.Hour))
	l.Do(adjust(theUser("alice"), int64(model.LimitRunTime), int64(2*time.Hour)))
	b := &command.Submit{Tasks: 1}
	job, _ := l.State.Jobs.Get(long)
	b.Spec = job.Spec
	wantCode(t, l.Try(b), model.CodeLimit)
	after, short := l.Submit(1), l.Submit(1, limited(time.Hour))
	for id, want := range map[model.JobID]time.Duration{before: 0, after: 2 * time.Hour, short: time.Hour} {
		if j, _ := l.State.Jobs.Get(id); j.Spec.TimeLimit != want {
			t.Errorf("job %s may run %s, want %s", id, j.Spec.TimeLimit, want)
		}
	}
	a := attempt(l.Cluster, l.Place(before))
	if j, _ := l.State.Jobs.Get(before); a.Frozen.TimeLimit != 2*time.Hour || j.Spec.TimeLimit != 2*time.Hour {
		t.Errorf("it may run %s, its job %s", a.Frozen.TimeLimit, j.Spec.TimeLimit)
	}
	wantCode(t, l.Try(l.Placement(model.TaskKey{Job: long})), model.CodeLimit)
	wantCode(t, l.Try(&command.Extend{Job: short, TimeLimit: 3 * time.Hour}), model.CodeLimit)
	wantCode(t, l.Try(&command.Extend{Job: short, By: time.Hour}), model.CodeOK)
}

// What runs counts as it runs, from the beginning of the period or of the quota; when
// the quota is used up nothing starts, until the next period.
func TestGPUHours(t *testing.T) {
	l := running(t, 4)
	used := func() int64 { q := l.State.QuotaOf(theUser("alice"), l.Now); return q.Used / 1000 }
	l.Wait(time.Hour)
	l.Do(quota("alice", 3*3600))
	if used() != 0 {
		t.Fatalf("%d s were used when the count began", used())
	}
	l.Wait(20 * time.Minute)
	second := l.Place(l.Submit(1))
	l.Wait(20 * time.Minute)
	if used() != 4*2400+1200 {
		t.Fatalf("%d s are used", used())
	}
	third := l.Submit(1)
	l.Wait(time.Minute)
	wantCode(t, l.Try(l.Placement(model.TaskKey{Job: third})), model.CodeLimit)
	l.Do(cancel(second.Job))
	l.Stopped(second)
	if used() != 41*60*4+21*60 {
		t.Errorf("%d s are used", used())
	}
	_, next := model.PeriodOf(l.Now, 24*time.Hour)
	l.Wait(next.Sub(l.Now) + time.Minute)
	if used() != 240 {
		t.Errorf("a minute into the next period %d s are used", used())
	}
	wantCode(t, l.Try(l.Placement(model.TaskKey{Job: third})), model.CodeOK)
}

// A change of a quota leaves the used time; another period restarts it.
func TestAnotherPeriodCountsAnew(t *testing.T) {
	l := running(t, 2)
	l.Do(quota("alice", 3600))
	l.Wait(10 * time.Minute)
	for _, v := range []struct {
		change *command.AdjustLimit
		used   int64
	}{
		{adjust(theUser("alice"), int64(model.LimitGPUTime), 7200), 1200},
		{adjust(theUser("alice"), int64(model.LimitOver), int64(model.OverLower)), 1200},
		{adjust(theUser("alice"), int64(model.LimitPeriod), int64(7*24*time.Hour)), 0},
	} {
		l.Do(v.change)
		if q := l.State.QuotaOf(theUser("alice"), l.Now); q.Used != v.used*1000 {
			t.Errorf("after %+v %d ms are used", v.change.Set, q.Used)
		}
	}
}

// Which guarantee work draws on, and what is then bounded.
func TestPools(t *testing.T) {
	l := running(t, 3, by("alice", "")) // the cluster has 16 GPUs
	l.Node("n3", 8)
	l.Do(owns(theProject("vision"), 8))
	l.Do(owns(theUser("alice"), 2))
	within := func(project, user string, gpus uint32) bool { return l.State.Within(project, user, gpus) }
	if !within("vision", "alice", 8) || within("vision", "bob", 9) || within("", "alice", 1) || within("", "bob", 1) {
		t.Error("work within a guarantee is not recognized")
	}
	l.Place(l.Submit(4, by("alice", "vision")))
	l.Place(l.Submit(1, by("bob", "speech")))
	if p := l.State.PoolOf("vision", "bob"); p.Own != 4 || p.Reserved != 8 || p.Borrowed != 2 || p.Owned != 10 {
		t.Errorf("the pool of vision is %+v", p)
	}
	for _, v := range []struct {
		mode          model.PoolMode
		part          uint32
		user, project string
		gpus          uint32
		want          model.Code
	}{
		{model.PoolStatic, 0, "bob", "vision", 5, model.CodeLimit},
		{model.PoolStatic, 0, "bob", "vision", 4, model.CodeOK},
		{model.PoolStatic, 0, "alice", "", 1, model.CodeLimit},
		{model.PoolStatic, 0, "bob", "", 4, model.CodeOK}, // 16 less 10, of which one is used
		{model.PoolHybrid, 500, "bob", "", 1, model.CodeLimit},
		{model.PoolDynamic, 0, "bob", "vision", 5, model.CodeOK},
		{model.PoolDynamic, 0, "alice", "", 1, model.CodeOK},
	} {
		other := *l
		c := *l.Cluster
		other.Cluster = &c
		other.Do(&command.SetPools{Mode: v.mode, Part: v.part})
		if v.mode == model.PoolHybrid {
			other.Place(other.Submit(6, by("bob", ""))) // eight are held beyond guarantees now, which is all
		}
		id := other.Submit(v.gpus, by(v.user, v.project))
		if r := other.Try(other.Placement(model.TaskKey{Job: id})); r.Code != v.want {
			t.Errorf("%+v: %+v", v, r)
		}
	}
}

// Guarantees that come and go are counted as if they had always been there.
func TestGuaranteesAreCountedAnew(t *testing.T) {
	l := running(t, 2, by("alice", ""))
	l.Place(l.Submit(3, by("bob", "vision")))
	for _, v := range []struct {
		do   command.Body
		want model.Account
	}{
		{owns(theProject("vision"), 2), model.Account{Own: 2, Reserved: 2, Borrowed: 3}},
		{owns(theUser("bob"), 2), model.Account{Own: 2, Reserved: 4, Borrowed: 3}},
		{owns(theProject("vision"), model.Unlimited), model.Account{Own: 2, Reserved: 2, Borrowed: 3}},
		{owns(theUser("alice"), 4), model.Account{Own: 0, Reserved: 6, Borrowed: 1}},
		{owns(theUser("bob"), model.Unlimited), model.Account{Own: 3, Reserved: 4, Borrowed: 3}},
		{owns(theUser("alice"), model.Unlimited), model.Account{}},
	} {
		l.Do(v.do)
		got, _ := l.State.Accounts.Get(model.ScopeKey{Kind: model.ScopeCluster})
		if got.Scope = (model.ScopeKey{}); got != v.want {
			t.Errorf("after %+v the cluster's account is %+v, want %+v", v.do, got, v.want)
		}
	}
}

// Check and CheckStep name what is wrong with accounts.
func TestCheckNamesBrokenAccounts(t *testing.T) {
	cluster := model.ScopeKey{Kind: model.ScopeCluster}
	broken := func() *life {
		l := running(t, 3)
		l.Do(owns(theUser("alice"), 2))
		l.Do(quota("alice", 60))
		l.Do(&command.SetPools{Mode: model.PoolStatic})
		l.Wait(time.Hour)
		return l
	}
	for name, change := range map[string]func(*model.Account){
		"own": func(a *model.Account) { a.Own++ }, "gpus": func(a *model.Account) { a.GPUs-- }, "begun": func(a *model.Account) { a.Began = 0 },
	} {
		s := broken().State
		statetest.Put(&s.Accounts, theUser("alice"), change)
		if err := check.State(&s); !statetest.Names(err, check.TotalsAgree) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
	for name, change := range map[string]func(*state.State){
		"own":      func(s *state.State) { statetest.Put(&s.Accounts, theUser("alice"), func(a *model.Account) { a.Own++ }) },
		"no owner": func(s *state.State) { statetest.Put(&s.Accounts, cluster, func(a *model.Account) { a.Own = 99 }) },
		"used": func(s *state.State) {
			statetest.Put(&s.Accounts, theUser("alice"), func(a *model.Account) { a.Used++ })
		},
		"started": func(s *state.State) {
			k := model.AttemptKey{Job: 1, N: 7}
			statetest.Put(&s.Attempts, k, func(a *model.Attempt) { a.Key = k })
		},
	} {
		before := broken().State
		after := before
		after.Index++
		change(&after)
		if err := check.Step(&before, &after); !statetest.Names(err, check.WithinLimits) {
			t.Errorf("%s: CheckStep says %v", name, err)
		}
	}
}

// Hours are rounded to the nearest thousandth.
func TestHoursAreRounded(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{0: "0", 7000: "0.002", 7200: "0.002", 3_600_000: "1", 3_599_999: "1", 5_400_000: "1.5", 36_000_000: "10", 1_799: "0", 1_801: "0.001"} {
		if got := state.Hours(ms); got != want {
			t.Errorf("%d ms are %s hours, want %s", ms, got, want)
		}
	}
}
