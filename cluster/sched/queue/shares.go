package queue

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Portion is what a project, or a user within one, has had of its fair share.
type Portion struct {
	Key    model.ShareKey // User is empty: the project as a whole
	Shares int64
	Used   int64   // GPU-seconds, decayed
	Part   uint64  // in percent of the fair share
	Lead   float64 // of a user: the factor for the scores of the user's jobs, see [Portions]
	GPUs   uint32  // held now
}

// Portions lists the recent use of projects, and of the users within them, at the time now, in order of project
// and user, each project before its users. It lists those that have used something, wait, or were given shares.
// The order of fair share is based on these values. A lead above 1 moves a user's jobs up if the user waits but
// has had less than the fair share. A lead below 1 moves others back meanwhile, the less the longer a job has
// waited.
func Portions(s *state.State, now model.Time) (out []Portion) {
	set := s.Settings()
	o := &Ordering{State: s, Now: max(now, set.Clock), Tuning: TuningOf(&set)}
	for _, p := range sharesOf(o, unused(s)...).projects {
		first := len(out)
		out = append(out, Portion{Key: p.key, Shares: p.shares, Used: p.used, Part: p.part * 100 / whole})
		for _, u := range p.users {
			if u.key.User == "" {
				continue // this entry is for a project without users
			}
			row, _ := s.Shares.Get(u.key)
			out = append(out, Portion{Key: u.key, Shares: u.shares, Used: u.used, Part: u.part * 100 / whole, Lead: u.lead.factor(), GPUs: row.GPUs})
			out[first].GPUs += row.GPUs
		}
	}
	return out
}

// unused lists the users and projects that were given shares and have used nothing so far: users without their
// project, and projects without users.
func unused(s *state.State) (out []model.ShareKey) {
	known := map[model.ScopeKey]bool{}
	for k := range s.Shares.All() {
		known[model.ScopeKey{Kind: model.ScopeUser, Name: k.User}] = true
		known[model.ScopeKey{Kind: model.ScopeProject, Name: k.Project}] = true
	}
	for scope := range s.Weights.All() {
		switch {
		case known[scope]:
		case scope.Kind == model.ScopeProject:
			out = append(out, model.ShareKey{Project: scope.Name})
		case scope.Kind == model.ScopeUser:
			out = append(out, model.ShareKey{User: scope.Name})
		}
	}
	return out
}

// shares is what projects and users have had lately of their fair shares.
type shares struct {
	projects []*project // in order of their names
	users    map[model.ShareKey]*account
}

// project is a project with its users, in order.
type project struct {
	account
	users []*account
}

// account is what a project, or a user within one, has had lately.
type account struct {
	key    model.ShareKey // User is empty: a project
	shares int64
	used   int64         // GPU-seconds, decayed
	waits  time.Duration // how long the oldest waiting job that may run has waited; 0: there is none
	part   uint64        // of the fair share; whole: all of it
	use    uint64        // what the part counts, in 256ths: bent by the weight of shares
	lead   lead          // of a user
}

const (
	whole    = 1 << 16 // the part of an account that has had its fair share
	mostUsed = 1 << 48 // GPU-seconds that count, so that sums and products stay in bounds
)

// sharesOf relates what each user has used to the user's fair share: first among projects, then among the users of
// one. More shares mean a greater fair share. Users that have used nothing count once they wait. Others may be
// named to be listed, which changes nothing for the rest.
func sharesOf(o *Ordering, named ...model.ShareKey) shares {
	out := shares{users: map[model.ShareKey]*account{}}
	waits := waitsOf(o)
	for k, row := range o.State.Shares.All() {
		out.users[k] = &account{key: k, used: min(row.UsedAt(o.Now, o.Tuning.HalfLife), mostUsed)}
	}
	for _, k := range slices.AppendSeq(named, maps.Keys(waits)) { // order-free: each on its own
		if out.users[k] == nil {
			out.users[k] = &account{key: k}
		}
	}
	var users []*account
	for k, u := range out.users { // order-free: sorted below
		u.shares, u.waits = weightOf(o.State, model.ScopeUser, k.User), waits[k]
		users = append(users, u)
	}
	slices.SortFunc(users, func(a, b *account) int { return a.key.Compare(b.key) })
	var projects []*account
	for _, u := range users {
		n := len(out.projects)
		if n == 0 || out.projects[n-1].key.Project != u.key.Project {
			p := &project{account: account{
				key: model.ShareKey{Project: u.key.Project}, shares: weightOf(o.State, model.ScopeProject, u.key.Project),
			}}
			out.projects, projects, n = append(out.projects, p), append(projects, &p.account), n+1
		}
		p := out.projects[n-1]
		p.users = append(p.users, u)
		p.used, p.waits = min(p.used+u.used, mostUsed), max(p.waits, u.waits)
	}
	settle(projects)
	for _, p := range out.projects {
		settle(p.users)
		for _, u := range p.users {
			u.use = useOf(u.part, p.part, &o.Tuning)
			u.part = min(u.part*p.part/whole, mostPart*whole/fair)
		}
	}
	leads(users, &o.Tuning)
	return out
}

// settle sets the part that each account has had of its fair share: of what all of them have used, max-min fairly
// by their shares (progressive filling; Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2). An
// account that has had less than that and has nothing waiting wants no more, and leaves the rest to the others.
func settle(all []*account) {
	var used, shares int64
	for _, a := range all {
		used, shares = used+a.used, shares+a.shares
	}
	least := slices.SortedFunc(slices.Values(all), func(a, b *account) int { return cmp.Compare(a.used*b.shares, b.used*a.shares) })
	for _, a := range least {
		if a.waits == 0 && portion(a.used, used, a.shares, shares) < whole {
			used, shares = used-a.used, shares-a.shares
		}
	}
	for _, a := range all {
		a.part = portion(a.used, used, a.shares, shares)
	}
}

// portion returns used/all over weight/weights, in units of which whole is 1.
func portion(used, all, weight, weights int64) uint64 {
	if all <= 0 {
		return whole
	}
	u, a := uint64(max(used, 0)), uint64(all)
	for a >= 1<<40 {
		u, a = u>>1, a>>1
	}
	hi, lo := bits.Mul64(u, whole*uint64(weights))
	out, _ := bits.Div64(hi, lo, a*uint64(weight))
	return min(out, mostPart*whole/fair)
}

func weightOf(s *state.State, kind model.ScopeKind, name string) int64 {
	if w, found := s.Weights.Get(model.ScopeKey{Kind: kind, Name: name}); found {
		return int64(w.Shares)
	}
	return model.DefaultWeight
}

// waitsOf returns for how long users have waited with jobs that may run. Jobs that wait for an instant or for
// others of their job do not count, nor do jobs of users with limits that leave no room. A user that is not in the
// map has nothing in line.
func waitsOf(o *Ordering) map[model.ShareKey]time.Duration {
	out := map[model.ShareKey]time.Duration{}
	some := anyDue(o.State, o.Now)
	for _, head := range o.Heads() {
		run := head.Run.Value()
		key := model.ShareKey{Project: run.Project, User: run.User}
		waited := max(o.Now.Sub(head.Since), 1)
		if run.Again {
			task, _ := o.State.Tasks.Get(head.Task)
			waited = max(task.AgeAt(o.Now), 1)
		}
		longest, seen := out[key]
		if waited > longest && (some || run.Throttled) && o.early(admission.TicketOf(o.State, head.Task)) {
			waited = 0
		}
		if !seen || waited > longest {
			out[key] = waited
		}
	}
	b := admission.NewBudget(o.State, o.Now)
	for k := range out { // order-free: each on its own
		for v := range b.Excesses(k.Project, k.User, 1, 1) {
			if v.Scope.Kind != model.ScopeCluster {
				out[k] = 0
			}
		}
	}
	return out
}

// fair is what the part of an account that has had its fair share counts.
const fair = 256

// Bounds of what a part counts, in 256ths.
const (
	leastPart = fair / 8
	mostPart  = fair * 64
	mostUse   = fair << 14 // of powers of parts
)

// blend raises a part in 256ths to the power of the weight of shares, where 100 is the power 1. Between whole
// powers it interpolates linearly.
func blend(n uint64, t *model.Tuning) uint64 {
	n = min(max(n, leastPart), mostPart)
	low := uint64(fair)
	for range t.ShareWeight / 100 {
		low = min(low*n/fair, mostUse)
	}
	rest := uint64(t.ShareWeight % 100)
	high := min(low*n/fair, mostUse)
	return max((low*(100-rest)+high*rest)/100, 1)
}

// useOf returns what counts of a user that has had the given part within a project that has had the given part. A
// small part within the project counts as at least an eighth of what is due there, so that the parts of projects
// still make a difference.
func useOf(within, project uint64, t *model.Tuning) uint64 {
	return blend(max(within, leastPart*whole/fair)*project/whole*fair/whole, t)
}

// account returns the account of a user. A user that has used nothing and has nothing in line gets a new one
// without use.
func (s *shares) account(k model.ShareKey, t *model.Tuning) *account {
	if a, found := s.users[k]; found {
		return a
	}
	i, found := slices.BinarySearchFunc(s.projects, k.Project, func(p *project, name string) int { return cmp.Compare(p.key.Project, name) })
	if !found {
		return &account{use: useOf(0, 0, t)}
	}
	return &account{use: useOf(0, s.projects[i].part, t)}
}
