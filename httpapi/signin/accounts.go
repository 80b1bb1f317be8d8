package signin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/oidc"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Accounts keeps the users of accounts at the identity provider.
type Accounts struct {
	Config

	current atomic.Pointer[Source]
	keys    atomic.Pointer[auth.Keys] // of the peers' settings

	mu      sync.Mutex
	refused map[model.Hash]refusal // by account
}

// Source is an identity provider with the present settings.
type Source struct {
	*oidc.Provider

	Settings oidc.Settings
}

// refusal is a change of a user that the state has refused: it is not tried again at once.
type refusal struct {
	at time.Time
	f  *problem.Failure
}

// NewAccounts returns the accounts of a peer.
func NewAccounts(c Config) *Accounts { return &Accounts{Config: c, refused: map[model.Hash]refusal{}} }

// TakeOver replaces the keys of the peers' settings and the settings of the provider; nil: there is none. A provider that is the same keeps
// its keys and the tokens that were verified.
func (a *Accounts) TakeOver(s *oidc.Settings, keys *auth.Keys) {
	a.keys.Store(keys)
	if s == nil {
		a.current.Store(nil)
		return
	}
	next := &Source{Settings: *s}
	if was := a.current.Load(); was != nil && was.Connection == s.Connection {
		next.Provider = was.Provider
	} else {
		next.Provider = oidc.New(s.Connection, a.Now)
	}
	a.current.Store(next)
}

// Source returns the present provider; nil: there is none.
func (a *Accounts) Source() *Source { return a.current.Load() }

// Known returns the account of a token of the provider that was verified here, by the token's hash.
func (a *Accounts) Known(token model.Hash) (*oidc.Account, bool) {
	p := a.Source()
	if p == nil {
		return nil, false
	}
	return p.Known(token)
}

// Remedy returns what a caller can do whose credential is not valid any more.
func (a *Accounts) Remedy() string {
	if a.Source() != nil {
		return "sign in again (berth login --oidc), or ask an admin for another"
	}
	return "ask an admin for another"
}

// Caller completes the caller of a verified token of the provider: with the rights that the groups have by the present settings, and no
// more than the user has.
func (a *Accounts) Caller(s *state.State, c *auth.Caller, account *oidc.Account, now model.Time) *auth.Caller {
	right, has := a.groups().Of(account.Groups)
	user, found := s.Users.Get(model.UserName(state.NameOf(s, account.Name, account.Subject)))
	if !has || !found || user.Subject != account.Subject || !account.Good(now) {
		return &auth.Caller{}
	}
	c.Kind, c.Name, c.Role = auth.User, user.Name, min(right.Role, user.Role)
	c.Since, c.Founded = user.Made, s.Settings().Auth.Since
	c.Expires, c.Brief = account.Expires, true
	return c
}

// groups returns what the groups of the provider allow.
func (a *Accounts) groups() oidc.Groups {
	if p := a.Source(); p != nil {
		return p.Settings.Groups
	}
	return nil
}

// Admit verifies a credential that may be a token of the provider, and has the state hold its user. The caller of the request has an
// address. Other credentials pass.
func (a *Accounts) Admit(ctx context.Context, token, from string) *problem.Failure {
	p := a.Source()
	if p == nil || !auth.IsJWT(token) {
		return nil
	}
	account, f := a.Verify(ctx, p.Provider, token)
	if f != nil {
		return f
	}
	return a.Ensure(ctx, account, token, from)
}

// Displaced returns why a key of the peers' settings does not count; empty: it counts. Its user was the user of an account at the identity
// provider before the key was added, and would otherwise be two persons.
func Displaced(s *state.State, key auth.Key) string {
	if u, _ := s.Users.Get(model.UserName(key.Name)); u.Subject.IsZero() {
		return ""
	}
	return "the key of " + key.Name + " among the peers' settings (auth.api_keys) does not count, because " + key.Name +
		" is the user of an account at the identity provider: give the key another name, or remove the user first (berth user remove " + key.Name + ")"
}

// Failed converts an error of the provider to a problem.
func Failed(err error) *problem.Failure {
	if refused, is := errors.AsType[*oidc.RefusedError](err); is {
		return problem.Refuse(wire.CodeUnauthenticated, refused.Reason)
	}
	if busy, is := errors.AsType[*oidc.BusyError](err); is {
		f := problem.Refuse(wire.CodeOverloaded, busy.Error())
		f.RetryIn(busy.Wait)
		return f
	}
	return problem.Refuse(problem.CodeProvider, oidc.ErrDown.Error()+": the peer's log has the reason; try again, or use a token of this cluster")
}

// Verify returns the account that a token of the provider is of.
func (a *Accounts) Verify(ctx context.Context, p *oidc.Provider, token string) (*oidc.Account, *problem.Failure) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	account, err := p.Verify(ctx, token)
	if err != nil {
		return nil, a.Failure(err)
	}
	return account, nil
}

// Failure converts an error of the provider to a problem, and logs it if the provider cannot be asked.
func (a *Accounts) Failure(err error) *problem.Failure {
	f := Failed(err)
	if f.Code == problem.CodeProvider {
		a.Log.Warn("identity_provider_unreachable", "err", err, "remedy", "check oidc.issuer, oidc.ca and the provider; tokens of this cluster are accepted all the same")
	}
	return f
}

// Change returns the command that has a state hold an account's user with what the provider states; nil: the state holds it, or what was
// stated later. The role is what the account may do.
func (a *Accounts) Change(s *state.State, account *oidc.Account) (c *command.SetUser, role model.Role, f *problem.Failure) {
	right, found := a.groups().Of(account.Groups)
	name := state.NameOf(s, account.Name, account.Subject)
	user, exists := s.Users.Get(model.UserName(name))
	switch {
	case !found && len(account.Groups) == 0:
		return nil, 0, problem.Refuse(model.CodeDenied.String(), "the identity provider states no group of yours, so that you have no role here: ask an operator")
	case !found:
		return nil, 0, problem.Refuse(model.CodeDenied.String(), "none of your groups at the identity provider has a role here: ask an operator")
	case state.Reserved(name):
		return nil, 0, problem.Refuse(model.CodeDenied.String(), state.IsReserved(name))
	case user.Subject.IsZero() && a.keys.Load() != nil && a.keys.Load().Has(name):
		return nil, 0, problem.Refuse(model.CodeDenied.String(), name+" has a key among the peers' settings (auth.api_keys), so that no account at the identity provider can be that user: "+
			"the key or the account needs another name")
	case exists && !user.Takes(account.Subject):
		return nil, 0, problem.Refuse(model.CodeDenied.String(), state.NotOf(&user))
	case exists && !user.Binds && account.Issued < user.Stated:
		return nil, min(right.Role, user.Role), nil // another token has stated more since
	case state.Stands(s, name, account.Subject, right.Role, right.Projects):
		return nil, right.Role, nil
	}
	return &command.SetUser{User: name, Role: right.Role, Join: right.Projects, Subject: account.Subject, Stated: account.Issued}, right.Role,
		nil
}

// Statement is the question of a peer at which a token of the provider was shown, whose user is to be changed.
type Statement struct {
	Token string `cbor:"1,keyasint"`
	From  string `cbor:"2,keyasint,omitempty"` // address of the caller
}

// Outcome is the answer: why the user was not changed. The zero value: it was.
type Outcome struct {
	Code   string `cbor:"1,keyasint,omitempty"`
	Detail string `cbor:"2,keyasint,omitempty"`
}

// Settle is the call by which the leader learns what the provider states about an account.
var Settle = call.Define[Statement, Outcome](call.Forward, "settle_account")

// Answer changes the user of an account at the leader. The token is verified here, too.
func (a *Accounts) Answer(ctx context.Context, _ model.PeerID, q *Statement) (*Outcome, error) {
	if a.Source() == nil {
		return &Outcome{wire.CodeUnauthenticated, "the leader has no identity provider among its settings: oidc.issuer must be the same at all peers"}, nil
	}
	f := a.Admit(ctx, q.Token, q.From)
	if f != nil {
		return &Outcome{f.Code, f.Detail}, nil
	}
	return &Outcome{}, nil
}

// Ensure has the state hold the user of an account, as the provider states it in a token, through the leader. The caller of the request has
// an address.
func (a *Accounts) Ensure(ctx context.Context, account *oidc.Account, token, from string) *problem.Failure {
	s := a.Reader.State()
	if set := s.Settings(); set.Incarnation.IsZero() {
		return problem.Usual(wire.CodeNoLeader)
	}
	c, _, f := a.Change(&s, account)
	if c == nil || f != nil {
		return f
	}
	if f := a.lately(account.Subject); f != nil {
		return a.Excuse(f, account)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f, err := a.settle(ctx, c, token, from)
	if err != nil {
		return problem.Of(a.Log, err)
	}
	if f != nil {
		a.note(account.Subject, f)
	}
	return a.Excuse(f, account)
}

// Excuse returns the refusal of a change of an account's user, unless the user is the account's already: then the state keeps the rights,
// since they are the last ones of an admin, and the token counts with those of its groups all the same.
func (a *Accounts) Excuse(f *problem.Failure, account *oidc.Account) *problem.Failure {
	s := a.Reader.State()
	if user, _ := s.Users.Get(model.UserName(state.NameOf(&s, account.Name, account.Subject))); f != nil &&
		f.Code == model.CodeConflict.String() && user.Subject == account.Subject {
		return nil
	}
	return f
}

// settle carries out a change of a user, here or at the leader.
func (a *Accounts) settle(ctx context.Context, body *command.SetUser, token, from string) (*problem.Failure, error) {
	led := false
	out, err := forward.AtLeader(ctx, a.Members, a.Calls, Settle, &Statement{token, from}, func(ctx context.Context) (*Outcome, error) {
		led = true
		c, err := command.New("user:"+body.User, body)
		if err != nil {
			return nil, err
		}
		results, _, err := a.Proposer.Propose(ctx, c.FromClient(from))
		if err != nil {
			return nil, problem.Unsure(err)
		}
		if results[0].OK() {
			return &Outcome{}, nil
		}
		f := problem.Refused(&results[0])
		return &Outcome{f.Code, f.Detail}, nil
	})
	switch {
	case err != nil && led:
		return nil, err
	case err != nil:
		return problem.Usual(wire.CodeNoLeader), nil // the next try asks the leader of then
	case out.Code != "":
		return problem.Refuse(out.Code, out.Detail), nil
	case !led:
		_, err = a.Reader.Read(ctx, peer.Linearizable) // this peer's state holds the user
	}
	return nil, err
}

// lately returns the refusal of a change of an account's user a moment ago; nil: there was none.
func (a *Accounts) lately(account model.Hash) *problem.Failure {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, found := a.refused[account]; found && a.Now().Sub(last.at) < again {
		return last.f
	}
	return nil
}

func (a *Accounts) note(account model.Hash, f *problem.Failure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.Now()
	for one, last := range a.refused { // order-free: all that are over
		if now.Sub(last.at) >= again {
			delete(a.refused, one)
		}
	}
	if len(a.refused) < mostNow {
		a.refused[account] = refusal{now, f}
	}
}
