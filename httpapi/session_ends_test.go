package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/pagewire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A session ends with what it follows from, and so do the streams that it has opened.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *site, id string){
		"its token is revoked": func(s *site, _ string) {
			s.do(http.MethodDelete, "/tokens/"+auth.ID(auth.HashOf(ann)), "", as(adam)...).into(new(wire.Gone))
		},
		"it is revoked by its id": func(s *site, id string) { s.do(http.MethodDelete, "/tokens/"+id, "", as(ann)...).into(new(wire.Gone)) },
		"its user is removed":     func(s *site, _ string) { s.do(http.MethodDelete, "/users/ann", "", as(adam)...).into(new(wire.Gone)) },
		"it was idle": func(s *site, _ string) {
			s.with(func(c *statetest.Cluster) {
				c.Wait(session.Idle)
				c.Do(&command.SetUser{User: "eve", Role: model.RoleUser})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newGuarded(t)
			with := s.signIn(t, withToken(ann))
			var me wire.Whoami
			s.do(http.MethodGet, "/whoami", "", with...).into(&me)
			answers := map[string]<-chan *reply{}
			for _, path := range []string{"/events", "/events?types=changed", "/queue?wait=1m&index=999999999"} {
				answers[path] = s.openWith(path, with...)
			}
			s.settled(len(answers))
			s.do(http.MethodDelete, "/tokens/"+me.Session.ID, "", as(bob)...).problem(http.StatusNotFound, wire.CodeNotFound)
			end(s, me.Session.ID)
			for path, answer := range answers {
				(<-answer).closed(path, wire.CodeUnauthenticated)
			}
			s.do(http.MethodGet, "/whoami", "", with...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
		})
	}
}

// A session has the present role of its user and no more than its token, whatever it was when it began.
func TestASessionsRole(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	var narrow wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"user":"otto","role":"viewer"}`, as(adam)...).into(&narrow)
	with, viewing := s.signIn(t, withToken(operatr)), s.signIn(t, withToken(narrow.Secret))
	s.do(http.MethodPost, "/orchestrator/stop", "", viewing...).problem(http.StatusForbidden, "denied")
	if got := s.do(http.MethodPost, "/orchestrator/stop", "", with...); got.status != http.StatusOK {
		t.Errorf("an operator's session: %d %s", got.status, got.body)
	}
	s.with(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "otto", Role: model.RoleUser}) })
	s.do(http.MethodPost, "/orchestrator/stop", "", with...).problem(http.StatusForbidden, "denied")
	s.with(func(c *statetest.Cluster) { c.Do(&command.SetUser{User: "otto", Role: model.RoleAdmin}) })
	if got := s.do(http.MethodPost, "/orchestrator/stop", "", with...); got.status != http.StatusOK {
		t.Errorf("an operator's session of an admin: %d %s", got.status, got.body)
	}
	s.do(http.MethodGet, "/users", "", with...).problem(http.StatusForbidden, "denied")
	s.do(http.MethodGet, "/users", "", viewing...).problem(http.StatusForbidden, "denied")
}

// A token that is made in a session has no later end than the session's token, though the session itself ends sooner.
func TestTokensOfASession(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	var parent, made wire.MadeToken
	s.do(http.MethodPost, "/tokens", `{"expires_in":"7d"}`, as(ann)...).into(&parent)
	with := s.signIn(t, withToken(parent.Secret))
	s.do(http.MethodPost, "/tokens", `{"expires_in":"8d"}`, with...).about("expires_in")
	s.do(http.MethodPost, "/tokens", `{}`, with...).into(&made)
	if !made.ExpiresAt.Equal(parent.ExpiresAt) {
		t.Errorf("made in a session, it ends %s, the token of the session %s", made.ExpiresAt, parent.ExpiresAt)
	}
}

// Uses renew a session, once an hour at most, at a follower as at the leader.
func TestASessionIsRenewed(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	f := newFollower(t, s, auth.Keys{})
	with := s.signIn(t, withToken(ann))
	expires := func() model.Time {
		st := s.State()
		for _, row := range st.Sessions.All() {
			return row.Expires
		}
		return 0
	}
	for _, at := range []*site{s, f} {
		before, index := expires(), s.State().Index
		s.with(func(c *statetest.Cluster) { c.Wait(session.Step - time.Minute) })
		index = max(index, s.State().Index)
		for range 20 {
			at.do(http.MethodGet, "/whoami", "", with...).into(new(wire.Whoami))
		}
		if got := s.State().Index; got != index || expires() != before {
			t.Errorf("uses within the hour have moved the log from %d to %d", index, got)
		}
		s.with(func(c *statetest.Cluster) { c.Wait(2 * time.Minute) })
		index = s.State().Index
		for range 20 {
			at.do(http.MethodGet, "/whoami", "", with...).into(new(wire.Whoami))
		}
		for expires() == before {
			select {
			case <-t.Context().Done():
				t.Fatal("the session was not renewed")
			case <-time.After(time.Millisecond):
			}
		}
		for range 20 {
			at.do(http.MethodGet, "/whoami", "", with...).into(new(wire.Whoami))
		}
		if got := s.State().Index; got != index+1 || expires() != model.TimeOf(s.now()).Add(session.Idle) {
			t.Errorf("uses after an hour have moved the log from %d to %d; the end is in %s", index, got, time.Duration(expires()-model.TimeOf(s.now())))
		}
	}
}

// Sign-ins of a user end the oldest session of that user, and none of another.
func TestManySignIns(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	bobs, oldest := s.signIn(t, withToken(bob)), s.signIn(t, withToken(ann))
	for range session.MaxOf {
		s.with(func(c *statetest.Cluster) { c.Wait(time.Second) })
		s.signIn(t, withToken(ann))
	}
	s.do(http.MethodGet, "/whoami", "", oldest...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
	s.do(http.MethodGet, "/whoami", "", bobs...).into(new(wire.Whoami))
	s.do(http.MethodPost, "/tokens", `{}`, as(ann)...).into(new(wire.MadeToken)) // sessions are no part of a user's tokens
}

// A session that was handed over ends when either is signed out.
func TestAHandOver(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	here := s.signIn(t, withToken(ann))
	var code pagewire.Code
	s.do(http.MethodPost, "/session/codes", "", here...).into(&code)
	there := s.signIn(t, `{"code":"`+code.Code+`"}`)
	s.do(http.MethodGet, "/whoami", "", there...).into(new(wire.Whoami))
	s.do(http.MethodDelete, "/session", "", there...).into(new(wire.Gone))
	s.do(http.MethodGet, "/whoami", "", here...).problem(http.StatusUnauthorized, wire.CodeUnauthenticated)
}
