package core

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
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

// takeOver replaces the terms.
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

// Projects returns the projects of a caller.
func (g *gate) Projects(s *state.State, c *auth.Caller) (out []string) {
	key, _ := g.Terms().Keys.Find(c.Credential)
	out = append(out, key.Projects...)
	for k := range s.Members.From(model.MemberKey{User: c.Name}) {
		if k.User != c.Name {
			break
		}
		out = append(out, k.Project)
	}
	return out
}
