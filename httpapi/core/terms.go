package core

import (
	"slices"

	"github.com/berth-gpu/berth/httpapi/advice"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/signin"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// terms are the present terms. They are immutable, and replaced as a whole.
type terms struct {
	Terms

	Advice advice.Advisers
}

// TakeOver replaces the terms of a running API. A request that is under way may see both the old
// and the new ones.
func (a *API) TakeOver(t Terms) {
	a.Gate.takeOver(t)
	a.Held.ReviewNow() // of callers whose keys are gone
}

func (g *gate) takeOver(t Terms) {
	next := &terms{Terms: t}
	if next.Workloads == nil {
		next.Workloads = workload.StandardDefaults()
	}
	if was := g.current.Load(); was != nil && slices.Equal(was.Advisers, t.Advisers) {
		next.Advice = was.Advice // the circuit breakers keep their state
	} else {
		next.Advice = advice.New(t.Advisers)
	}
	g.current.Store(next)
	g.Accounts.TakeOver(t.OIDC, &next.Keys)
	s := g.Peer.State()
	for _, name := range next.Keys.Owners() {
		if why := signin.Displaced(&s, auth.Key{Name: name}); why != "" {
			g.Log.Error("key_refused", "name", name, "why", why)
		}
	}
	g.Callers.Allow(t.Rate)
	g.Agents.Allow(agentFactor * t.Rate)
	g.Addresses.Allow(t.Rate)
}

// Terms returns the present terms.
func (g *gate) Terms() *terms { return g.current.Load() }
