package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// people lists and changes users and tokens.
type people struct{ api *core.API }

// dropTokenInput is the input of DELETE /tokens/{token_id}.
type dropTokenInput struct {
	Key string `header:"Idempotency-Key"`
	ID  string `path:"token_id" maxLength:"64"`
}

// tokensInput is the input of GET /tokens.
type tokensInput struct {
	User string `query:"user" maxLength:"128" doc:"of this user only"`
}

// everyToken reports whether a caller may see and change the tokens of all.
func everyToken(c *auth.Caller) bool { return c.Kind == auth.Open || c.Role.Covers(model.RoleAdmin) }

// ownToken reports whether a token is the caller's own; of admins all are.
func ownToken(c *auth.Caller, t *model.Token) bool {
	user, human := t.Of()
	return everyToken(c) || human && c.Kind == auth.User && user == c.Name
}

// forSelf restricts a new token to what its maker has, if that is no admin: it is the maker's own, has no higher role, and ends no
// later than the maker's token.
func (a people) forSelf(c *auth.Caller, body *wire.MakeToken, to *command.MakeToken) error {
	if everyToken(c) || c.Kind == auth.Once {
		return nil
	}
	s := a.api.State()
	switch {
	case c.Kind != auth.User || !s.Users.Has(model.UserName(c.Name)):
		return problem.Denied("only users that the cluster knows have tokens of their own: ask an admin for one")
	case to.User != "" && to.User != c.Name:
		return problem.Denied("user must be " + c.Name + ", the user of your token, or be left out: tokens of others need the role " + model.RoleAdmin.String())
	case to.Role.Machine():
		return problem.Denied("tokens of machines need the role " + model.RoleAdmin.String() + "; you have " + c.Role.String())
	case to.Role > c.Role:
		return problem.Denied("role must be at most " + c.Role.String() + ", that of the token that you send, not " + to.Role.String())
	}
	to.User = c.Name
	if to.Role == model.RoleNone {
		to.Role = c.Role
	}
	end := c.Expires
	if c.HasSession() {
		end = c.ParentExpires
	}
	if end == 0 || to.Expires > 0 && to.Expires <= end {
		return nil
	}
	if body.ExpiresIn != nil {
		return problem.Invalid("expires_in", "must be no later than the end of the token that you send, or of your session's, "+end.Time().UTC().Format(time.RFC3339))
	}
	to.Expires = end
	return nil
}

// userInput is the input of a change of a user.
type userInput struct {
	Key  string `header:"Idempotency-Key"`
	User string `path:"user" maxLength:"128"`
}

// userBodyInput is the input of a change of a user with a body.
type userBodyInput struct {
	Key  string `header:"Idempotency-Key"`
	User string `path:"user" maxLength:"128"`

	core.Raw
}

func (a people) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("whoami", http.MethodGet, "/whoami", "The caller's user, role and rights"), a.whoami)
	core.Handle(a.api, doc, core.Op("tokens", http.MethodGet, "/tokens", "The caller's tokens without their secrets, for admins those of all"), a.tokens)
	o := core.Example(core.Op("make-token", http.MethodPost, "/tokens", "Create a token"), `{"user":"ann","name":"laptop"}`)
	o.Description = "The token is only in this answer. A request that is repeated under its key is refused. Callers below admin create tokens for themselves: " +
		"with no higher role and no later end than the token that they send."
	core.HandleBody(a.api, doc, o, a.make)
	core.Handle(a.api, doc, core.Op("drop-token", http.MethodDelete, "/tokens/{token_id}", "Revoke a token"), a.drop)
	core.Handle(a.api, doc, core.Op("users", http.MethodGet, "/users", "The users and their roles"), a.users)
	core.HandleBody(a.api, doc, core.Example(core.Op("set-user", http.MethodPut, "/users/{user}", "Add a user, or change a user's rights"), `{"role":"user"}`), a.set)
	core.Handle(a.api, doc, core.Op("remove-user", http.MethodDelete, "/users/{user}", "Remove a user with their tokens, webhooks and reservations; their jobs stay"), a.remove)
}

func (a people) whoami(ctx context.Context, _ *struct{}) (*core.Answer[wire.Whoami], error) {
	s := a.api.State()
	c := auth.From(ctx)
	out := &wire.Whoami{
		Authentication: a.api.Asks(&s), Name: c.Name, Kind: c.Kind.String(), Role: c.Role.String(), Actor: c.Actor(),
		Projects: []string{},
	}
	out.ExpiresAt = c.Expires.Time()
	if c.Since > 0 && c.Since >= c.Founded {
		out.Since = c.Since.Time()
	}
	if row, found := s.Sessions.Get(c.Credential); found && c.HasSession() {
		one := view.Session(&row)
		out.Session = &one
	}
	if c.Name != "" {
		out.Projects = append(out.Projects, a.api.Projects(&s, c)...)
	}
	return &core.Answer[wire.Whoami]{Index: s.Index, Body: out}, nil
}

func (a people) tokens(ctx context.Context, in *tokensInput) (*core.Answer[wire.Tokens], error) {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	out := &wire.Tokens{Tokens: []wire.Token{}}
	c := auth.From(ctx)
	for hash, t := range s.Tokens.All() {
		if !ownToken(c, &t) || in.User != "" && t.User != in.User {
			continue
		}
		out.Tokens = append(out.Tokens, view.Token(&s, &t, a.api.Now(&s)))
		out.Tokens[len(out.Tokens)-1].Current = !hash.IsZero() && hash == c.Credential
	}
	for hash, row := range s.Sessions.All() {
		if t, _ := s.Tokens.Get(row.Parent); row.Code || !ownToken(c, &t) || in.User != "" && row.User != in.User {
			continue
		}
		out.Tokens = append(out.Tokens, view.SessionToken(&s, &row, a.api.Now(&s)))
		out.Tokens[len(out.Tokens)-1].Current = hash == c.Credential
	}
	slices.SortStableFunc(out.Tokens, func(x, y wire.Token) int {
		return cmp.Or(cmp.Compare(x.User, y.User), cmp.Compare(x.Node, y.Node), x.CreatedAt.Compare(y.CreatedAt))
	})
	return &core.Answer[wire.Tokens]{Index: s.Index, Body: out}, nil
}

// Lifetimes of tokens.
const (
	tokenLife = wire.Lifetime(90 * 24 * time.Hour) // by default
	joinLife  = wire.Lifetime(time.Hour)           // of a machine's, by default
	joinMost  = 7 * 24 * time.Hour                 // of a machine's, at most
)

// make makes a token. The token is drawn before the proposal, so that a second try under the same
// key would draw another: it is refused, since the first cannot be shown again.
func (a people) make(ctx context.Context, in *core.BodyInput, body *wire.MakeToken) (*core.Answer[wire.MadeToken], error) {
	c := &command.MakeToken{
		Name: body.Name, User: body.User, Network: body.Network, Hosts: strings.Join(body.Hosts, ","),
		Capped: !auth.From(ctx).Operates(),
	}
	var err error
	if c.Role, err = intake.Role(body.Role); err != nil {
		return nil, err
	}
	if c.Expires, err = a.expiry(c.Role, body.ExpiresIn); err != nil {
		return nil, err
	}
	if who := auth.From(ctx); who.Kind == auth.Once {
		if c.Role != model.RoleAdmin {
			return nil, problem.Invalid("role", "must be admin: the first token can only create one other")
		}
		c.Spend = who.Credential
	}
	if err := a.forSelf(auth.From(ctx), body, c); err != nil {
		return nil, err
	}
	var secret string
	if secret, c.Hash, err = a.draw(c.Role); err != nil {
		return nil, err
	}
	r, index, err := a.api.Propose(ctx, in.Key, c)
	if r.Code == model.CodeIdempotency {
		return nil, problem.Refuse(r.Code.String(), "a token was created under this Idempotency-Key and cannot be shown again: revoke that token, and create another")
	}
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	row, _ := s.Tokens.Get(c.Hash)
	out := &wire.MadeToken{Success: true, Secret: secret, Token: view.Token(&s, &row, a.api.Now(&s))}
	return &core.Answer[wire.MadeToken]{Index: index, Body: out}, nil
}

// expiry returns when a new token expires; 0: never.
func (a people) expiry(role model.Role, asked *wire.Lifetime) (model.Time, error) {
	usual, most, text := tokenLife, 10*model.MaxDuration, "must be a minute to 10 years, or never"
	if role.Machine() {
		usual, most, text = joinLife, joinMost, "must be a minute to 7 days for the token of a machine"
	}
	life := time.Duration(intake.Or(asked, usual))
	switch {
	case life == 0 && !role.Machine():
		return 0, nil
	case life < time.Minute || life > most:
		return 0, problem.Invalid("expires_in", text)
	}
	return model.TimeOf(a.api.Config.Now()).Add(life), nil
}

// draw draws a token and returns what the cluster keeps of it. That of a machine contains the hash of the authority's
// key.
func (a people) draw(role model.Role) (secret string, hash model.Hash, err error) {
	if !role.Machine() {
		secret = auth.NewToken()
		return secret, auth.HashOf(secret), nil
	}
	if a.api.Config.Authority == nil {
		return "", hash, problem.Denied("this peer issues no certificates, so that no machine can join")
	}
	_, pin := a.api.Config.Authority.About()
	t := trust.NewToken(map[model.Role]trust.Role{model.RoleAgent: trust.RoleNode, model.RolePeer: trust.RolePeer}[role], pin)
	return t.String(), t.Hash(), nil
}

func (a people) drop(ctx context.Context, in *dropTokenInput) (*core.Answer[wire.Gone], error) {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	c := &command.DropTokens{}
	for hash, t := range s.Tokens.All() {
		if auth.ID(hash) == strings.ToLower(in.ID) && ownToken(auth.From(ctx), &t) {
			c.Tokens = append(c.Tokens, hash)
		}
	}
	for hash, row := range s.Sessions.All() {
		if t, _ := s.Tokens.Get(row.Parent); !row.Code && auth.ID(hash) == strings.ToLower(in.ID) && ownToken(auth.From(ctx), &t) {
			c.Tokens = append(c.Tokens, hash)
		}
	}
	if len(c.Tokens) == 0 {
		return nil, problem.Refuse(wire.CodeNotFound, "there is no such token, or it is not yours; GET /tokens lists the ids")
	}
	_, index, err := a.api.Propose(ctx, in.Key, c)
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: "revoked"}}, nil
}

func (a people) users(ctx context.Context, _ *struct{}) (*core.Answer[wire.Users], error) {
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	tokens := map[string]int64{}
	for _, t := range s.Tokens.All() {
		if user, human := t.Of(); human {
			tokens[user]++
		}
	}
	out := &wire.Users{Users: []wire.User{}}
	for _, u := range s.Users.All() {
		out.Users = append(out.Users, view.User(&s, &u, tokens[u.Name]))
	}
	return &core.Answer[wire.Users]{Index: s.Index, Body: out}, nil
}

func (a people) set(ctx context.Context, in *userBodyInput, body *wire.SetUser) (*core.Answer[wire.User], error) {
	c := &command.SetUser{User: in.User, Join: body.Join, Leave: body.Leave, Bind: body.Provider}
	var err error
	if c.Role, err = intake.Role(body.Role); err != nil {
		return nil, err
	}
	s := a.api.State()
	_, index, err := a.api.Propose(ctx, in.Key, c)
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	u, _ := s.Users.Get(model.UserName(in.User))
	tokens := int64(0)
	for _, t := range s.Tokens.All() {
		if user, human := t.Of(); human && user == in.User {
			tokens++
		}
	}
	out := view.User(&s, &u, tokens)
	return &core.Answer[wire.User]{Index: index, Body: &out}, nil
}

func (a people) remove(ctx context.Context, in *userInput) (*core.Answer[wire.Gone], error) {
	_, index, err := a.api.Propose(ctx, in.Key, &command.RemoveUser{User: in.User})
	if err != nil {
		return nil, err
	}
	return &core.Answer[wire.Gone]{Index: index, Body: &wire.Gone{Success: true, Message: in.User + " is removed with their tokens, webhooks and reservations; their jobs continue, and operators can cancel them"}}, nil
}
