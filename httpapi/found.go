package httpapi

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
)

// foundAgain is how soon a peer looks again whether it is to begin to ask.
const foundAgain = time.Second

// FoundAccess has the cluster ask who callers are, if [Access] wants it and the state
// does not say so yet: the peer that leads draws the secret of the peers and the first
// token, which announce is given once. It returns when the state says so, or the context
// ends. A peer that dies in between takes the token with it; a key from the
// configuration is then the way in.
func FoundAccess(ctx context.Context, a *API, announce func(token string)) {
	var token string
	for a.gate.must && ctx.Err() == nil {
		s := a.peer.Reader.State()
		if s.Settings().Auth.On() {
			if token != "" && s.Tokens.Has(auth.HashOf(token)) { // though its proposal got no answer
				announce(token)
			}
			return
		}
		leader, until := a.peer.Members.Leader()
		if leader.Self && !s.Settings().Incarnation.IsZero() {
			token = auth.NewToken()
			found(ctx, a, token)
		}
		select {
		case <-until.Done():
		case <-a.wakes.changed(topics(model.TopicSettings), s.Index):
		case <-time.After(foundAgain):
		case <-ctx.Done():
		}
	}
}

// found proposes it. Whether that was carried out the state tells.
func found(ctx context.Context, a *API, token string) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	body := &command.FoundAuth{Secret: auth.NewSecret(), Token: auth.HashOf(token)}
	if _, _, err := a.proposeAs(ctx, "peer:"+string(a.cfg.Self), "", body); err != nil {
		a.log.Warn("the cluster does not ask yet who callers are", "err", err)
	}
}
