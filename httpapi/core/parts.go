package core

import (
	"context"
	"net/http"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/advice"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/signin"
)

// Context returns a context that ends when the API shuts down.
func (a *API) Context() context.Context { return a.life.Ctx }

// State returns the newest state that this peer has.
func (a *API) State() state.State { return a.Peer.Reader.State() }

// Changed returns a channel that is closed once one of the topics has changed after the index of a state. It may be closed somewhat
// earlier: look, and ask again.
func (a *API) Changed(set model.TopicSet, after uint64) <-chan struct{} {
	return a.wakes.Changed(set, after)
}

// Samples returns what the leader knows of nodes and is not in the log: telemetry, at most a second old. While the leader cannot be asked,
// the ages of the readings grow.
func (a *API) Samples(ctx context.Context) agentwire.Samples { return a.samples.Get(ctx) }

// Asks reports whether callers must authenticate.
func (a *API) Asks(s *state.State) bool { return a.gate.Asks(s) }

// Terms returns the present terms.
func (a *API) Terms() *Terms { return &a.gate.Terms().Terms }

// TakeOver replaces the terms of a running API. A request that is under way may see both the old
// and the new ones.
func (a *API) TakeOver(t Terms) {
	a.gate.takeOver(t)
	a.held.ReviewNow() // of callers whose keys are gone
}

// Advisers returns the services that the analysis of workloads asks.
func (a *API) Advisers() advice.Advisers { return a.gate.Terms().Advice }

// Projects returns the projects that a caller may use.
func (a *API) Projects(s *state.State, c *auth.Caller) []string { return a.gate.Projects(s, c) }

// Accounts returns the accounts of the identity provider.
func (a *API) Accounts() *signin.Accounts { return a.gate.Accounts }

// Confirm returns a handler that identifies the caller of a change again, where the change is made.
func (a *API) Confirm(method, route string, next http.Handler) http.Handler {
	return a.gate.Confirm(method, route, next)
}

// Held returns how many requests of callers whose rights may end take long now.
func (a *API) Held() int { return a.held.Count() }
