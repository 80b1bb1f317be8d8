package core

import (
	"slices"

	"github.com/berth-gpu/berth/httpapi/advice"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// Terms are settings of an API that can change while it runs, see [API.TakeOver].
type Terms struct {
	// Keys are accepted in addition to tokens.
	Keys auth.Keys
	// Rate is how many requests a caller may make a second, and twice that at once, over all peers
	// together: each peer allows its part. A node's agent may make four times as many. Requests
	// without a known credential are counted by their address. 0: no limit. Other peers, open
	// routes and callers without authentication are not counted.
	Rate float64
	// Proxies may name the address that a request comes from.
	Proxies auth.Proxies
	Rules   intake.CommandRules
	// Workloads are the defaults of workloads without other data; nil: the standard ones.
	Workloads workload.Defaults
	// Advisers are other services that are asked about workloads.
	Advisers []advice.Adviser
}

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
	g.Callers.Allow(t.Rate)
	g.Agents.Allow(agentFactor * t.Rate)
	g.Addresses.Allow(t.Rate)
}

// Terms returns the present terms.
func (g *gate) Terms() *terms { return g.current.Load() }
