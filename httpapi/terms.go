package httpapi

import (
	"slices"

	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// Terms are what an API goes by and takes over anew while it runs, see [API.TakeOver].
type Terms struct {
	// Keys are known beside tokens.
	Keys auth.Keys
	// Rate is how many requests a caller may make a second, and twice that at once, over
	// all peers together: each peer allows its part. A node's agent may make four times as
	// many. Requests that show nothing that is known are counted by the address that they
	// come from. 0: any. Other peers, open routes and callers without authentication are
	// not counted.
	Rate float64
	// Proxies may name the address that a request comes from.
	Proxies auth.Proxies
	Rules   CommandRules
	// Workloads are what is taken for workloads of which nothing is known; nil: the
	// standard ones.
	Workloads workload.Defaults
	// Advisers are asked about workloads, too.
	Advisers []Adviser
}

// terms are those of now. Nobody changes them: others are put in their place.
type terms struct {
	Terms

	advisers advisers
}

// TakeOver has an API that runs go by other terms. A request that is under way may see
// both the old and the new ones.
func (a *API) TakeOver(t Terms) {
	a.gate.takeOver(t)
	a.held.reviewNow() // of callers whose keys are gone
}

func (g *gate) takeOver(t Terms) {
	next := &terms{Terms: t}
	if next.Workloads == nil {
		next.Workloads = workload.StandardDefaults()
	}
	if was := g.current.Load(); was != nil && slices.Equal(was.Advisers, t.Advisers) {
		next.advisers = was.advisers // who is let be for a while, still is
	} else {
		next.advisers = newAdvisers(t.Advisers)
	}
	g.current.Store(next)
	g.callers.Allow(t.Rate)
	g.agents.Allow(agentFactor * t.Rate)
	g.addresses.Allow(t.Rate)
}

// terms are what the API goes by now.
func (g *gate) terms() *terms { return g.current.Load() }
