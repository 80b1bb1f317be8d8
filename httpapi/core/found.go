package core

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// foundAgain is the interval at which a peer checks whether it must require authentication.
const foundAgain = time.Second

// FoundAccess turns authentication on in the state, if [Config.Asks] is set and the state does not
// require it yet: the leader draws the first token, which announce gets once. The first token is
// good for an hour. If it expires unused, and no token is good for the role admin, a peer that is
// started later draws another. If an admin has a key of the configuration no first token is made.
//
// It returns when the state requires authentication, or the context ends.
func FoundAccess(ctx context.Context, a *API, announce func(token string)) {
	var token string
	for a.gate.Must && ctx.Err() == nil {
		s := a.State()
		if token != "" && s.Tokens.Has(auth.HashOf(token)) { // although its proposal got no answer
			announce(token)
			return
		}
		if s.Settings().Auth.On() && !a.gate.firstLost(&s) {
			return
		}
		leader, until := a.Peer.Members.Leader()
		if leader.Self && !s.Settings().Incarnation.IsZero() {
			body := &command.FoundAuth{}
			if keys := a.gate.Terms().Keys; !keys.Admin() {
				token = auth.NewToken()
				body.Token = auth.HashOf(token)
			}
			found(ctx, a, body)
		}
		select {
		case <-until.Done():
		case <-a.wakes.Changed(Topics(model.TopicSettings), s.Index):
		case <-time.After(foundAgain):
		case <-ctx.Done():
		}
	}
}

// firstLost reports whether the first token has expired before an admin had a token or a key.
func (g *gate) firstLost(s *state.State) bool {
	now, lost := max(model.TimeOf(g.Clock()), s.Settings().Clock), false
	for _, t := range s.Tokens.All() {
		name, human := t.Of()
		user, _ := s.Users.Get(model.UserName(name))
		if human && t.Good(now) && t.Allows(user.Role) == model.RoleAdmin {
			return false
		}
		lost = lost || t.First && !t.Good(s.Settings().Clock) // the clock by which the state judges
	}
	keys := g.Terms().Keys
	return lost && !keys.Admin()
}

// found proposes the change. The state shows whether it was applied.
func found(ctx context.Context, a *API, body *command.FoundAuth) {
	ctx, cancel := context.WithTimeout(ctx, WriteLimit)
	defer cancel()
	if _, _, err := a.ProposeAs(ctx, "peer:"+string(a.Config.Self), "", body); err != nil {
		a.Log.Warn("auth_not_founded", "err", err)
	}
}
