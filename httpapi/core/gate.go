package core

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/issue"
	"github.com/berth-gpu/berth/httpapi/port"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/signin"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// brief is the life of a token whose end is near from the beginning.
const brief = 48 * time.Hour

// agentFactor is the rate of one node's agent in callers' rates: it renews leases and reports on
// all jobs of its node.
const agentFactor = 4

// gate identifies callers, and checks their rights.
type gate struct {
	Must      bool                  // see Config.Asks
	current   atomic.Pointer[terms] // the present terms of the API
	Peer      port.Reader
	whole     atomic.Bool // this peer was once up to date since it started
	Clock     func() time.Time
	Log       *slog.Logger
	origins   *http.CrossOriginProtection
	prove     issue.Prove     // see Config.Prove
	hosts     *endpoint.Hosts // names under which this peer is addressed
	Callers   *auth.Limiter   // of users and services, by credential
	Agents    *auth.Limiter   // of agents, the same
	Addresses *auth.Limiter   // of callers without a known credential, by network
	Accounts  *signin.Accounts
}

func newGate(c *Config) *gate {
	g := &gate{
		Must: c.Asks, prove: c.Prove, Peer: c.Peer.Reader, Clock: c.Now, Log: c.Log, origins: http.NewCrossOriginProtection(),
		Callers: auth.NewLimiter(0, c.Now), Agents: auth.NewLimiter(0, c.Now), Addresses: auth.NewLimiter(0, c.Now),
		hosts: endpoint.NewHosts(slices.Concat(c.Own, c.Hosts)...),
		Accounts: signin.NewAccounts(signin.Config{
			Reader: c.Peer.Reader, Members: c.Peer.Members, Proposer: c.Peer.Proposer, Calls: c.Peer.Calls,
			Now: c.Now, Log: c.Log,
		}),
	}
	g.takeOver(c.Terms)
	return g
}

// Asks reports whether callers must authenticate.
func (g *gate) Asks(s *state.State) bool { return g.Must || s.Settings().Auth.On() }

// misdirected refuses a request whose Host header does not name this peer: a page of another site,
// whose name was made to resolve to this peer, could otherwise send requests in the name of the
// visitor. With authentication such a page has no token, and then addresses pass, too.
func (g *gate) misdirected(r *http.Request) *problem.Failure {
	s := g.Peer.State()
	asks := g.Asks(&s)
	if g.hosts.Has(r.Host) || asks && g.hosts.HasOrIP(r.Host) {
		return nil
	}
	remedy := "use localhost, a loopback address or the address in server.http, or add the name to server.hosts"
	if asks {
		remedy = "use an IP address or a name of this peer, or add the name to server.hosts"
	}
	return problem.Refuse(wire.CodeMisdirected, fmt.Sprintf("the Host header %q does not name this server: %s", model.Clip(r.Host), remedy))
}

// enter identifies the caller and checks the route's role. It also returns the caller of a refused
// request.
func (g *gate) enter(r *http.Request, rule auth.Rule, known bool) (*http.Request, *problem.Failure) {
	s := g.Peer.State()
	asks := g.Asks(&s) || g.prove != nil && rule.Least == model.RoleAgent
	if !asks {
		return r.WithContext(auth.With(r.Context(), &auth.Caller{Kind: auth.Open, Role: model.RoleAdmin})), nil
	}
	caller, f := g.caller(&s, r, rule)
	switch {
	case f != nil:
	case !known:
		f = problem.Denied("no role may call this")
	default:
		f = allowed(rule, caller)
	}
	r = r.WithContext(auth.With(r.Context(), caller))
	if f != nil {
		level := slog.LevelWarn
		if f.Code == wire.CodeRateLimited { // a flood must not become one of the log
			level = slog.LevelDebug
		}
		g.Log.Log(r.Context(), level, "a request was refused", "code", f.Code, "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr,
			"caller", caller.Actor(), "why", f.Detail)
	}
	return r, f
}

// caller identifies the caller of a request, and counts the request.
func (g *gate) caller(s *state.State, r *http.Request, rule auth.Rule) (*auth.Caller, *problem.Failure) {
	peers, node := s.Peers.Len(), g.node(r)
	passed := forward.PassedOn(r.Context()) != nil
	switch {
	case node != "" && passed:
		return auth.Agent(node), nil
	case node != "":
		return auth.Agent(node), g.slow(g.Agents, string(node), peers)
	case passed:
		return g.passedOn(s, r, rule)
	case g.prove != nil && rule.Least == model.RoleAgent:
		return &auth.Caller{}, problem.Refuse(wire.CodeUnauthenticated, "this path is for agents and needs the certificate of a node, which was not revoked: let the machine join with a token (berth token join)")
	}
	secret, err := auth.Presented(r.Header, g.Terms().Keys.Header)
	if err != nil {
		if f := g.slow(g.Addresses, networkOf(r), peers); f != nil {
			return &auth.Caller{}, f
		}
		return &auth.Caller{}, problem.Refuse(wire.CodeMalformed, err.Error())
	}
	if secret == "" && g.local(r) {
		return auth.Root(), nil
	}
	if secret == "" {
		if rule.Open() && rule.Method == http.MethodGet { // probes neither pay for other requests nor wait for them
			return &auth.Caller{}, nil
		}
		if f := g.slow(g.Addresses, networkOf(r), peers); f != nil || rule.Open() {
			return &auth.Caller{}, f
		}
		return &auth.Caller{}, problem.Refuse(wire.CodeUnauthenticated, "authentication is required: send a token as Authorization: Bearer, "+auth.HeaderToken+" or "+auth.HeaderKey+" (for the command line: BERTH_TOKEN)")
	}
	caller := g.identify(s, auth.HashOf(secret))
	switch {
	case caller.Kind == auth.Node:
		return caller, g.slow(g.Agents, caller.Payer(), peers)
	case caller.Kind != auth.Unidentified: // a known caller pays only from its own bucket
		return caller, g.slow(g.Callers, caller.Payer(), peers)
	case rule.Open() && rule.Method == http.MethodGet:
		return caller, nil
	}
	if f := g.slow(g.Addresses, networkOf(r), peers); f != nil {
		return caller, f
	}
	if rule.Open() {
		return caller, nil
	}
	if f := g.Accounts.Admit(r.Context(), secret, addressOf(r)); f != nil {
		return caller, f
	}
	caller, f := g.newer(r.Context(), peer.Default, auth.HashOf(secret))
	if f != nil || caller.Kind != auth.Unidentified {
		return caller, f
	}
	if signin.By(r.Context()) {
		return caller, problem.Refuse(wire.CodeUnauthenticated, "the session has ended: sign in again")
	}
	return caller, g.unknown(auth.HashOf(secret), "this token or key is unknown to this peer, was revoked or has expired: "+g.Accounts.Remedy())
}

// unknown refuses a credential that no caller has, with a usual reason unless the credential is a key whose name is another's.
func (g *gate) unknown(credential model.Hash, usual string) *problem.Failure {
	s := g.Peer.State()
	if key, found := g.Terms().Keys.Find(credential); found {
		usual = cmp.Or(signin.Displaced(&s, key), usual)
	}
	return problem.Refuse(wire.CodeUnauthenticated, usual)
}

// newer identifies a caller by a newer state. A user that has just made a token through this peer
// may use it here, and a credential that another peer has accepted is looked up in the newest state
// that can be read. Unknown callers do not cause writes at the leader, except once after this peer
// has started: until it is up to date, it cannot refuse a caller for good.
func (g *gate) newer(ctx context.Context, c peer.Consistency, credential model.Hash) (*auth.Caller, *problem.Failure) {
	ctx, cancel := context.WithTimeout(ctx, newerLimit)
	defer cancel()
	if !g.whole.Load() {
		c = peer.Linearizable
	}
	s, err := g.Peer.Read(ctx, c)
	if err != nil {
		return &auth.Caller{}, problem.Of(g.Log, err)
	}
	if s.Settings().Incarnation.IsZero() {
		return &auth.Caller{}, problem.Usual(wire.CodeNoLeader)
	}
	if c == peer.Linearizable {
		g.whole.Store(true)
	}
	return g.identify(&s, credential), nil
}

// newerLimit bounds how long an unknown token may keep a request waiting.
const newerLimit = time.Second

// passedOn identifies the caller of a request that another peer has passed on, by the credential that the
// caller has sent. That peer has counted the request.
func (g *gate) passedOn(s *state.State, r *http.Request, rule auth.Rule) (*auth.Caller, *problem.Failure) {
	secret, err := auth.Presented(r.Header, g.Terms().Keys.Header)
	switch {
	case err != nil:
		return &auth.Caller{}, problem.Refuse(wire.CodeMalformed, err.Error())
	case secret == "" && g.local(r):
		return auth.Root(), nil
	case rule.Open(): // whatever a header says
		return &auth.Caller{}, nil
	case secret == "":
		return &auth.Caller{}, problem.Refuse(wire.CodeUnauthenticated, "authentication is required")
	}
	caller := g.identify(s, auth.HashOf(secret))
	if caller.Kind == auth.Unidentified {
		f := g.Accounts.Admit(r.Context(), secret, addressOf(r))
		if f != nil {
			return caller, f
		}
		if caller, f = g.newer(r.Context(), peer.Linearizable, auth.HashOf(secret)); f != nil {
			return caller, f
		}
	}
	if caller.Kind == auth.Unidentified {
		return caller, g.unknown(auth.HashOf(secret), "this token or key is unknown to the leader, was revoked or has expired")
	}
	return caller, nil
}

// identify returns the caller whose credential has a hash.
func (g *gate) identify(s *state.State, credential model.Hash) *auth.Caller {
	c := &auth.Caller{Credential: credential}
	if key, found := g.Terms().Keys.Find(credential); found {
		if signin.Displaced(s, key) != "" {
			return &auth.Caller{}
		}
		c.Name, c.Role, c.Kind = key.Name, key.Role, auth.Service
		if key.Human {
			c.Kind = auth.User
		}
		return c
	}
	now := max(model.TimeOf(g.Clock()), s.Settings().Clock)
	if account, is := g.Accounts.Known(credential); is {
		return g.Accounts.Caller(s, c, account, now)
	}
	token, found := s.Tokens.Get(credential)
	c.Expires, c.Brief = token.Expires, token.Expires > 0 && token.Expires <= token.Made.Add(brief)
	if row, is := s.Sessions.Get(credential); is && !row.Code && row.Good(now) {
		token, found = s.Tokens.Get(row.Parent)
		c.Expires, c.Parent, c.ParentExpires = row.Expires, row.Parent, token.Expires
	}
	if !found || !token.Good(now) {
		return &auth.Caller{}
	}
	switch {
	case token.First:
		c.Kind = auth.Once
	case token.Joins() && (g.prove != nil || token.Role != model.RoleAgent): // it is for POST /cluster/join only, in the body
		return &auth.Caller{}
	case token.Joins(): // in tests and simulations, where agents have no certificates
		c.Kind, c.Name, c.Role = auth.Node, token.User, token.Role
	default:
		user, _ := s.Users.Get(model.UserName(token.User))
		c.Kind, c.Name, c.Role = auth.User, token.User, token.Allows(user.Role)
		c.Since, c.Founded = user.Made, s.Settings().Auth.Since
	}
	return c
}

// allowed returns a refusal if the caller's role does not suffice.
func allowed(rule auth.Rule, c *auth.Caller) *problem.Failure {
	if why := rule.NotFor(c); why != "" {
		return problem.Denied(why)
	}
	return nil
}

// slow refuses a request that exceeds its caller's rate.
func (g *gate) slow(l *auth.Limiter, who string, peers int) *problem.Failure {
	wait := l.Take(who, peers)
	if wait == 0 {
		return nil
	}
	f := problem.Refuse(wire.CodeRateLimited, "too many requests: nothing was done; try again in "+wait.Round(time.Millisecond).String())
	f.RetryIn(wait)
	return f
}

// networkOf returns the key by which requests without a known caller are counted.
func networkOf(r *http.Request) string { return auth.Network(addressOf(r)) }

// addressOf returns the address that a request comes from, see [gate.located].
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// trusts reports whether an address is that of a trusted proxy.
func (g *gate) trusts(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && g.Terms().Proxies.Has(a.Unmap())
}

// located returns the request with the address of its client in place of that of a trusted
// proxy, for limits, logs and the audit trail.
func (g *gate) located(r *http.Request) *http.Request {
	proxies := g.Terms().Proxies
	if len(proxies) == 0 {
		return r
	}
	at := *r
	at.RemoteAddr = net.JoinHostPort(proxies.Client(r), "0")
	return &at
}

// Confirm wraps a change at the peer that makes it: it checks the caller, the role and the owner of
// the job again, in this peer's own state.
func (g *gate) Confirm(method, route string, next http.Handler) http.Handler {
	rule, _ := auth.Find(method, route) // around refuses requests without a rule
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := g.Peer.State()
		if set := s.Settings(); set.Incarnation.IsZero() { // its defaults are not the founders' yet
			problem.Usual(wire.CodeNoLeader).Write(w)
			return
		}
		c := auth.From(r.Context())
		if c.Credential.IsZero() {
			next.ServeHTTP(w, r)
			return
		}
		c = g.identify(&s, c.Credential)
		f := allowed(rule, c)
		if c.Kind == auth.Unidentified {
			f = g.unknown(auth.From(r.Context()).Credential, "this token or key was revoked or has expired")
		}
		if f == nil {
			r = r.WithContext(auth.With(r.Context(), c))
			f = g.owns(rule, r)
		}
		if f != nil {
			g.Log.Warn("a change was refused", "code", f.Code, "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr, "caller", c.Actor(), "why", f.Detail)
			f.Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// owns returns a refusal if the job of the path is another user's and the caller is no operator. A
// job that this peer does not know may have been acknowledged by another peer: it is looked up
// again in the newest state that can be read.
func (g *gate) owns(rule auth.Rule, r *http.Request) *problem.Failure {
	c := auth.From(r.Context())
	if !rule.Bound(c) {
		return nil
	}
	id, err := intake.JobID(mux.Vars(r)["job_id"])
	if err != nil {
		return problem.Of(g.Log, err)
	}
	s := g.Peer.State()
	job, found := s.Jobs.Get(id)
	if !found {
		ctx, cancel := context.WithTimeout(r.Context(), readLimit)
		defer cancel()
		if s, err = g.Peer.Read(ctx, peer.Linearizable); err != nil {
			return problem.Of(g.Log, err)
		}
		job, found = s.Jobs.Get(id)
	}
	if !found {
		return problem.Of(g.Log, NoJob())
	}
	return OwnJob(&job, rule, c)
}

// OwnJob returns a refusal if a job is another user's, for a caller that a rule allows only the caller's own; nil: the caller may have it.
func OwnJob(job *model.Job, rule auth.Rule, c *auth.Caller) *problem.Failure {
	if why := rule.NotOwn(c, job.Spec.User, job.Submitted); rule.Bound(c) && why != "" {
		return problem.Denied("job " + job.ID.String() + " is another user's: " + why)
	}
	return nil
}
