package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/oidc"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/signin"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// providers has users sign in at an identity provider.
type providers struct{ api *core.API }

// providerTokenInput is the input of POST /oidc/token. It has no key: a repetition makes another token, or finds that the code was used.
type providerTokenInput struct{ core.Raw }

func (a providers) route(doc huma.API) {
	core.Handle(a.api, doc, core.Op("oidc", http.MethodGet, "/oidc", "The identity provider at which users sign in"), a.show)
	o := core.Op("oidc-device", http.MethodPost, "/oidc/device", "Begin a sign-in at the identity provider, which the user goes on with in a browser")
	o.Metadata = map[string]any{core.AnsweredHere: true}
	core.Handle(a.api, doc, o, a.begin)
	o = core.Op("oidc-token", http.MethodPost, "/oidc/token", "Get a token of the cluster for a sign-in at the identity provider")
	o.Description = "The token has the role that the user's groups have at this moment, and a short life. While the user has not signed in yet, the answer is pending."
	core.HandleBody(a.api, doc, o, a.token)
}

// provider returns the identity provider.
func (a providers) provider() (*signin.Source, error) {
	p := a.api.Accounts().Source()
	if p == nil {
		return nil, problem.Refuse(wire.CodeNotFound, "this cluster has no identity provider (oidc.issuer in the peers' settings): use a token (berth token create)")
	}
	return p, nil
}

func (a providers) show(ctx context.Context, _ *struct{}) (*core.Answer[wire.Provider], error) {
	p, err := a.provider()
	if err != nil {
		return nil, err
	}
	out := &wire.Provider{Issuer: p.Issuer, ClientID: p.ClientID, Audience: p.Audience, Scopes: p.ScopeList()}
	if out.Device, err = p.Device(ctx); err != nil {
		return nil, a.api.Accounts().Failure(err)
	}
	s := a.api.State()
	return &core.Answer[wire.Provider]{Index: s.Index, Body: out}, nil
}

// usualInterval is the time between two questions where the provider names none (RFC 8628, section 3.2), in seconds.
const usualInterval = 5

func (a providers) begin(ctx context.Context, _ *struct{}) (*core.Answer[wire.Device], error) {
	p, err := a.provider()
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	if !a.api.Asks(&s) {
		return nil, errNoSignIn()
	}
	d, err := p.Begin(ctx, core.SenderOf(ctx))
	if err != nil {
		return nil, a.api.Accounts().Failure(err)
	}
	out := &wire.Device{
		Success: true, Code: d.DeviceCode, UserCode: d.UserCode, Address: d.VerificationURI,
		Complete: d.VerificationURIComplete, ExpiresAt: d.Expiry, Interval: d.Interval,
	}
	if out.Interval <= 0 {
		out.Interval = usualInterval
	}
	return &core.Answer[wire.Device]{Index: s.Index, Body: out}, nil
}

func (a providers) token(ctx context.Context, _ *providerTokenInput, body *wire.ProviderSignIn) (*core.Answer[wire.ProviderToken], error) {
	p, err := a.provider()
	if err != nil {
		return nil, err
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	switch {
	case !a.api.Asks(&s):
		return nil, errNoSignIn()
	case (body.IDToken == "") == (body.Device == ""):
		return nil, problem.Invalid("id_token", "give either an ID token or a device code")
	}
	token := body.IDToken
	if body.Device != "" {
		var at oidc.Progress
		if token, at, err = p.Poll(ctx, body.Device, core.SenderOf(ctx)); err != nil {
			return nil, a.api.Accounts().Failure(err)
		}
		if at != oidc.Done {
			return &core.Answer[wire.ProviderToken]{
				Index: s.Index,
				Body:  &wire.ProviderToken{Success: true, Pending: true, Slower: at == oidc.Slower},
			}, nil
		}
	}
	account, f := a.api.Accounts().Verify(ctx, p.Provider, token)
	if f != nil {
		return nil, f
	}
	return a.signIn(ctx, account, p.Settings.TokenLife, body.Name)
}

// signIn makes a token for a verified account, whose user is added or changed before if the provider states so.
func (a providers) signIn(ctx context.Context, account *oidc.Account, life time.Duration, name string) (*core.Answer[wire.ProviderToken],
	error,
) {
	s := a.api.State()
	change, role, f := a.api.Accounts().Change(&s, account)
	if f != nil {
		return nil, f
	}
	user := state.NameOf(&s, account.Name, account.Subject)
	actor := core.UserActor(user)
	if change != nil {
		_, _, err := a.api.ProposeAs(ctx, actor, "", change)
		if f, is := errors.AsType[*problem.Failure](err); is {
			f = a.api.Accounts().Excuse(f, account)
			if err = nil; f != nil {
				err = f
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if name == "" {
		name = "oidc"
	}
	secret := auth.NewToken()
	c := &command.MakeToken{
		Hash: auth.HashOf(secret), Name: name, User: user, Role: role, Expires: model.TimeOf(a.api.Config.Now()).Add(life),
		Capped: role < model.RoleOperator,
	}
	_, index, err := a.api.ProposeAs(ctx, actor, "", c)
	if err != nil {
		return nil, err
	}
	s = a.api.State()
	row, _ := s.Tokens.Get(c.Hash)
	made := view.Token(&s, &row, a.api.Now(&s))
	return &core.Answer[wire.ProviderToken]{Index: index, Body: &wire.ProviderToken{Success: true, Secret: secret, Token: &made}}, nil
}
