package admin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A session ends with what it follows from, and so do the streams that it has opened.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *apitest.Site, id string){
		"its token is revoked": func(s *apitest.Site, _ string) {
			s.Do(http.MethodDelete, "/tokens/"+auth.ID(auth.HashOf(apitest.Ann)), "", apitest.As(apitest.Adam)...).Into(new(wire.Gone))
		},
		"it is revoked by its id": func(s *apitest.Site, id string) {
			s.Do(http.MethodDelete, "/tokens/"+id, "", apitest.As(apitest.Ann)...).Into(new(wire.Gone))
		},
		"its user is removed": func(s *apitest.Site, _ string) {
			s.Do(http.MethodDelete, "/users/ann", "", apitest.As(apitest.Adam)...).Into(new(wire.Gone))
		},
		"it was idle": func(s *apitest.Site, _ string) {
			s.With(func(c *statetest.Cluster) {
				c.Wait(session.Idle)
				c.Do(&command.SetUser{User: "eve", Role: model.RoleUser})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.NewGuarded(t)
			with := signIn(s, t, withToken(apitest.Ann))
			var me wire.Whoami
			s.Do(http.MethodGet, "/whoami", "", with...).Into(&me)
			answers := map[string]<-chan *apitest.Reply{}
			for _, path := range []string{"/events", "/events?types=changed", "/queue?wait=1m&index=999999999"} {
				answers[path] = s.OpenWith(path, with...)
			}
			s.Settled(len(answers))
			s.Do(http.MethodDelete, "/tokens/"+me.Session.ID, "", apitest.As(apitest.Bob)...).Problem(http.StatusNotFound, wire.CodeNotFound)
			end(s, me.Session.ID)
			for path, answer := range answers {
				(<-answer).Closed(path, wire.CodeUnauthenticated)
			}
			s.Do(http.MethodGet, "/whoami", "", with...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
		})
	}
}

// A session has the present role of its user and no more than its token, whatever it was when it began.
func TestASessionsRole(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	var narrow wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"user":"otto","role":"viewer"}`, apitest.As(apitest.Adam)...).Into(&narrow)
	with, viewing := signIn(s, t, withToken(apitest.Operator)), signIn(s, t, withToken(narrow.Secret))
	s.Do(http.MethodPost, "/orchestrator/stop", "", viewing...).Problem(http.StatusForbidden, "denied")
	if got := s.Do(http.MethodPost, "/orchestrator/stop", "", with...); got.Status != http.StatusOK {
		t.Errorf("an operator's session: %d %s", got.Status, got.Body)
	}
	s.With(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "otto", Role: model.RoleUser}) })
	s.Do(http.MethodPost, "/orchestrator/stop", "", with...).Problem(http.StatusForbidden, "denied")
	s.With(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "otto", Role: model.RoleAdmin}) })
	if got := s.Do(http.MethodPost, "/orchestrator/stop", "", with...); got.Status != http.StatusOK {
		t.Errorf("an operator's session of an admin: %d %s", got.Status, got.Body)
	}
	s.Do(http.MethodGet, "/users", "", with...).Problem(http.StatusForbidden, "denied")
	s.Do(http.MethodGet, "/users", "", viewing...).Problem(http.StatusForbidden, "denied")
}

// A token that is made in a session has no later end than the session's token, though the session itself ends sooner.
func TestTokensOfASession(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	var parent, made wire.MadeToken
	s.Do(http.MethodPost, "/tokens", `{"expires_in":"7d"}`, apitest.As(apitest.Ann)...).Into(&parent)
	with := signIn(s, t, withToken(parent.Secret))
	s.Do(http.MethodPost, "/tokens", `{"expires_in":"8d"}`, with...).About("expires_in")
	s.Do(http.MethodPost, "/tokens", `{}`, with...).Into(&made)
	if !made.ExpiresAt.Equal(parent.ExpiresAt) {
		t.Errorf("made in a session, it ends %s, the token of the session %s", made.ExpiresAt, parent.ExpiresAt)
	}
}

// Uses renew a session, once an hour at most, at a follower as at the leader.
func TestASessionIsRenewed(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	f := apitest.NewFollower(t, s, auth.Keys{})
	with := signIn(s, t, withToken(apitest.Ann))
	expires := func() model.Time {
		st := s.State()
		for _, row := range st.Sessions.All() {
			return row.Expires
		}
		return 0
	}
	for _, at := range []*apitest.Site{s, f} {
		before, index := expires(), s.State().Index
		s.With(func(c *statetest.Cluster) { c.Wait(session.Step - time.Minute) })
		index = max(index, s.State().Index)
		for range 20 {
			at.Do(http.MethodGet, "/whoami", "", with...).Into(new(wire.Whoami))
		}
		if got := s.State().Index; got != index || expires() != before {
			t.Errorf("uses within the hour have moved the log from %d to %d", index, got)
		}
		s.With(func(c *statetest.Cluster) { c.Wait(2 * time.Minute) })
		index = s.State().Index
		for range 20 {
			at.Do(http.MethodGet, "/whoami", "", with...).Into(new(wire.Whoami))
		}
		for expires() == before {
			select {
			case <-t.Context().Done():
				t.Fatal("the session was not renewed")
			case <-time.After(time.Millisecond):
			}
		}
		for range 20 {
			at.Do(http.MethodGet, "/whoami", "", with...).Into(new(wire.Whoami))
		}
		if got := s.State().Index; got != index+1 || expires() != model.TimeOf(s.Now()).Add(session.Idle) {
			t.Errorf("uses after an hour have moved the log from %d to %d; the end is in %s", index, got, time.Duration(expires()-model.TimeOf(s.Now())))
		}
	}
}

// Sign-ins of a user end the oldest session of that user, and none of another.
func TestManySignIns(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	bobs, oldest := signIn(s, t, withToken(apitest.Bob)), signIn(s, t, withToken(apitest.Ann))
	for range session.MaxOf {
		s.With(func(c *statetest.Cluster) { c.Wait(time.Second) })
		signIn(s, t, withToken(apitest.Ann))
	}
	s.Do(http.MethodGet, "/whoami", "", oldest...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.Do(http.MethodGet, "/whoami", "", bobs...).Into(new(wire.Whoami))
	s.Do(http.MethodPost, "/tokens", `{}`, apitest.As(apitest.Ann)...).Into(new(wire.MadeToken)) // sessions are no part of a user's tokens
}

// A session that was handed over ends when either is signed out.
func TestAHandOver(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	here := signIn(s, t, withToken(apitest.Ann))
	var code wire.Code
	s.Do(http.MethodPost, "/session/codes", "", here...).Into(&code)
	there := signIn(s, t, `{"code":"`+code.Code+`"}`)
	s.Do(http.MethodGet, "/whoami", "", there...).Into(new(wire.Whoami))
	s.Do(http.MethodDelete, "/session", "", there...).Into(new(wire.Gone))
	s.Do(http.MethodGet, "/whoami", "", here...).Problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
}
