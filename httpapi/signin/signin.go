// Package signin reads and writes the cookies with the sessions of browsers, and has sessions renewed that are in use.
package signin

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/port"
)

// Config holds what sessions need of the peer that they are shown to.
type Config struct {
	Self     model.PeerID
	Reader   port.Reader
	Members  port.Members
	Proposer port.Proposer
	Calls    *call.Client // makes calls at the leader; nil: none can be made
	Now      func() time.Time
	Log      *slog.Logger
	Life     context.Context // ends renewals
}

// Sessions reads and writes the sessions of requests.
type Sessions struct {
	Config

	cluster atomic.Pointer[string] // its id; nil: not known yet

	mu    sync.Mutex
	tried map[model.Hash]time.Time // when a renewal was last tried
}

// New returns the sessions of a peer.
func New(c Config) *Sessions { return &Sessions{Config: c, tried: map[model.Hash]time.Time{}} }

// arrival is how a request came to this peer.
type arrival struct {
	secure  bool // over TLS
	session bool // its credential is the cookie of a session
}

type arrivalKey struct{}

func arrivalOf(ctx context.Context) arrival {
	a, _ := ctx.Value(arrivalKey{}).(arrival)
	return a
}

// By reports whether the credential of a request is the cookie of a session.
func By(ctx context.Context) bool { return arrivalOf(ctx).session }

// Secure reports whether a request came over TLS, to this peer or to the one that has passed it on.
func Secure(ctx context.Context) bool {
	if passed := forward.PassedOn(ctx); passed != nil {
		return passed.Secure
	}
	return arrivalOf(ctx).secure
}

// Read returns a request with the session of its cookie, if the cookie counts, as its credential: in a header, as it is also passed on to
// the leader.
func (s *Sessions) Read(r *http.Request, secure, counts bool) *http.Request {
	how, secret := arrival{secure: secure}, ""
	if counts && len(r.Header["Cookie"]) > 0 {
		secret = auth.InCookie(r, auth.CookieName(s.clusterID(), secure))
		how.session = secret != ""
	}
	r = r.WithContext(context.WithValue(r.Context(), arrivalKey{}, how))
	if how.session {
		r.Header = r.Header.Clone()
		r.Header.Set(auth.HeaderToken, secret)
	}
	return r
}

// Foreign reports whether a browser says that a request comes from the page of another server than the one that it is sent to.
func Foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	from, err := url.Parse(origin)
	return origin != "" && (err != nil || !strings.EqualFold(from.Host, r.Host))
}

// clusterID returns the cluster's id; empty: this peer does not belong to a cluster yet.
func (s *Sessions) clusterID() string {
	if known := s.cluster.Load(); known != nil {
		return *known
	}
	id := s.Members.Status().Cluster
	if id != "" {
		s.cluster.Store(&id)
	}
	return id
}

// Cookie returns the cookie with a session for the sender of a request, as the value of Set-Cookie. Browsers keep it for a time; 0: they
// forget it.
func (s *Sessions) Cookie(ctx context.Context, secret string, life time.Duration) string {
	secure := Secure(ctx)
	cookie := http.Cookie{ //nolint:gosec // without TLS only on loopback addresses, where browsers refuse Secure
		Name: auth.CookieName(s.clusterID(), secure), Value: secret, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	}
	if life <= 0 {
		cookie.MaxAge = -1
	}
	return cookie.String()
}

// Bounds of renewals.
const (
	again   = 10 * time.Second // after another try
	limit   = 5 * time.Second
	mostNow = 1000 // at once
)

// Renewal is the question of a peer at which a session was used.
type Renewal struct {
	Session model.Hash `cbor:"1,keyasint"`
}

// Renew is the call by which the leader learns that a session is in use.
var Renew = call.Define[Renewal, struct{}](call.Forward, "renew_session")

// Answer renews a session at the leader that was used at another peer.
func (s *Sessions) Answer(ctx context.Context, _ model.PeerID, q *Renewal) (*struct{}, error) {
	if !s.due(q.Session) {
		return &struct{}{}, nil
	}
	return &struct{}{}, s.renew(ctx, q.Session)
}

// Used has the session of a caller renewed, if that gains an hour: in the background, and once at a time.
func (s *Sessions) Used(c *auth.Caller) {
	if !c.HasSession() || !s.due(c.Credential) {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(s.Life, limit)
		defer cancel()
		if err := s.renew(ctx, c.Credential); err != nil {
			s.Log.Debug("a session was not renewed", "caller", c.Actor(), "err", err)
		}
	}()
}

// due reports whether a session is to be renewed, and notes that the caller tries it.
func (s *Sessions) due(hash model.Hash) bool {
	st := s.Reader.State()
	row, found := st.Sessions.Get(hash)
	parent, known := st.Tokens.Get(row.Parent)
	at := max(model.TimeOf(s.Now()), st.Settings().Clock)
	if _, due := row.Renewal(at, &parent); !found || !known || !due {
		return false
	}
	now := at.Time()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tried) >= mostNow {
		for one, last := range s.tried {
			if now.Sub(last) >= again {
				delete(s.tried, one)
			}
		}
	}
	if last, tried := s.tried[hash]; len(s.tried) >= mostNow || tried && now.Sub(last) < again {
		return false
	}
	s.tried[hash] = now
	return true
}

// renew extends a session, through the leader.
func (s *Sessions) renew(ctx context.Context, hash model.Hash) error {
	_, err := forward.AtLeader(ctx, s.Members, s.Calls, Renew, &Renewal{Session: hash}, func(ctx context.Context) (*struct{}, error) {
		c, err := command.New("peer:"+string(s.Self), &command.RenewSession{Hash: hash})
		if err == nil {
			_, _, err = s.Proposer.Propose(ctx, c)
		}
		return nil, err
	})
	return err
}
