package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// sessions opens and ends sessions of browsers.
type sessions struct{ api *core.API }

// signInInput is the input of POST /session. It has no key: a repetition opens another session, or finds that the code was used.
type signInInput struct{ core.Raw }

// signOutInput is the input of DELETE /session.
type signOutInput struct {
	Key string `header:"Idempotency-Key"`
}

func (a sessions) route(doc huma.API) {
	o := core.Example(core.Op("sign-in", http.MethodPost, "/session", "Open a session for a browser, from a token or a one-time code"), `{"token":"berth_..."}`)
	o.Description = "The session is a cookie that scripts cannot read, and is not in the body. It ends 12 hours after its last use, 7 days after the sign-in, or together with its token."
	core.HandleBody(a.api, doc, o, a.open)
	core.Handle(a.api, doc, core.Op("sign-out", http.MethodDelete, "/session", "End the session that the request is sent with, and those handed over from it"), a.end)
	core.Handle(a.api, doc, core.Op("make-code", http.MethodPost, "/session/codes", "Create a one-time code, with which a browser signs in within a minute"), a.code)
}

// errNoSignIn is the answer while callers need not authenticate.
func errNoSignIn() error {
	return problem.Refuse(model.CodeConflict.String(), "no sign-in is needed: this cluster does not require authentication (berth server --auth); send requests without a credential")
}

func (a sessions) open(ctx context.Context, _ *signInInput, body *wire.SignIn) (*core.SignedIn[wire.SignedIn], error) {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	if !a.api.Asks(&s) {
		return nil, errNoSignIn()
	}
	c, user := &command.MakeSession{}, ""
	switch {
	case (body.Token == "") == (body.Code == ""):
		return nil, problem.Invalid("token", "give either a token or a code")
	case body.Token != "":
		user, err = a.userOfToken(&s, body.Token, c)
	default:
		user, err = a.userOfCode(&s, body.Code, c)
	}
	if err != nil {
		return nil, err
	}
	secret := auth.NewToken()
	c.Hash = auth.HashOf(secret)
	_, index, err := a.api.ProposeAs(ctx, core.UserActor(user), "", c)
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	row, _ := s.Sessions.Get(c.Hash)
	life := time.Duration(row.Began.Add(session.Life) - a.api.Now(&s))
	return &core.SignedIn[wire.SignedIn]{
		Index: index, Cookie: a.api.Sessions.Cookie(ctx, secret, life),
		Body: &wire.SignedIn{Success: true, Name: row.User, Session: view.Session(&row)},
	}, nil
}

// userOfToken completes the command with a token, and returns its user.
func (a sessions) userOfToken(s *state.State, secret string, c *command.MakeSession) (string, error) {
	c.From = auth.HashOf(secret)
	keys := a.api.Terms().Keys
	if _, is := keys.Find(c.From); is {
		return "", problem.Denied("this is a key of the server's configuration, from which no session can be opened: create a token with it (berth token create), and sign in with that")
	}
	token, found := s.Tokens.Get(c.From)
	user, human := token.Of()
	switch {
	case !found || !token.Good(a.api.Now(s)):
		return "", problem.Refuse(wire.CodeUnauthenticated, "the token is unknown, was revoked or has expired: ask an admin for another")
	case token.First:
		return "", problem.Denied("the first token can only create another: berth token create --user NAME --role admin")
	case !human:
		return "", problem.Denied("this token lets a machine join, and no browser: use the token of a user (berth token create)")
	}
	return user, nil
}

// userOfCode completes the command with a code, and returns its user.
func (a sessions) userOfCode(s *state.State, secret string, c *command.MakeSession) (string, error) {
	c.From = auth.HashOf(secret)
	row, found := s.Sessions.Get(c.From)
	if !found || !row.Code || !row.Good(a.api.Now(s)) {
		return "", problem.Denied("the code is unknown, was used already or has expired: each is good once, within " + session.Brief.String() + "; ask for another (berth ui), or sign in with a token")
	}
	return row.User, nil
}

func (a sessions) end(ctx context.Context, in *signOutInput) (*core.SignedIn[wire.Gone], error) {
	c := auth.From(ctx)
	switch {
	case c.Kind == auth.Open:
		return nil, errNoSignIn()
	case !c.HasSession():
		return nil, problem.Refuse(model.CodeConflict.String(), "the request was sent without a session: a token is revoked with DELETE /tokens/{token_id}")
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.DropTokens{Tokens: []model.Hash{c.Credential}})
	if err != nil {
		return nil, err
	}
	return &core.SignedIn[wire.Gone]{Index: index, Cookie: a.api.Sessions.Cookie(ctx, "", 0), Body: &wire.Gone{Success: true, Message: "signed out"}}, nil
}

func (a sessions) code(ctx context.Context, _ *struct{}) (*core.Answer[wire.Code], error) {
	c := auth.From(ctx)
	s := a.api.State()
	switch {
	case c.Kind == auth.Open:
		return nil, errNoSignIn()
	case !c.HasSession() && !s.Tokens.Has(c.Credential):
		return nil, problem.Denied("a code is made from the token of a user, which this request does not show: create one (berth token create), and use that")
	}
	secret := auth.NewToken()
	hash := auth.HashOf(secret)
	_, index, err := a.api.Propose(ctx, "", &command.MakeSession{Hash: hash, From: c.Credential, Code: true})
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	row, _ := s.Sessions.Get(hash)
	return &core.Answer[wire.Code]{Index: index, Body: &wire.Code{Success: true, Code: secret, ExpiresAt: row.Expires.Time()}}, nil
}
