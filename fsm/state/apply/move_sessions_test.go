package apply_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func sessionOf(n int) model.Hash { return model.Hash{byte(n), byte(n >> 8), 2} }

func codeOf(n int) model.Hash { return model.Hash{byte(n), byte(n >> 8), 3} }

// signedIn returns a cluster in which ann has the token hashOf(2) and a session of it, sessionOf(1).
func signedIn(t *testing.T) *statetest.Cluster {
	c := guarded(t)
	c.Do(&command.MakeToken{Hash: hashOf(2), User: "ann", Role: model.RoleUser})
	c.Do(&command.MakeSession{Hash: sessionOf(1), From: hashOf(2)})
	return c
}

func expiryOf(t *testing.T, c *statetest.Cluster, hash model.Hash) time.Duration {
	t.Helper()
	row, found := c.State.Sessions.Get(hash)
	if !found {
		t.Fatal("the session is not there")
	}
	return time.Duration(row.Expires - c.Now)
}

// A session is used for 12 hours after its last renewal, which an hour must lie before, and for 7 days at most.
func TestASessionsTime(t *testing.T) {
	t.Parallel()
	c := signedIn(t)
	if got := expiryOf(t, c, sessionOf(1)); got != session.Idle {
		t.Errorf("a new session ends in %s", got)
	}
	renew := &command.RenewSession{Hash: sessionOf(1)}
	c.Wait(session.Step - time.Second)
	c.Do(renew)
	if got := expiryOf(t, c, sessionOf(1)); got != session.Idle-session.Step+time.Second {
		t.Errorf("renewed within the hour, it ends in %s", got)
	}
	c.Wait(time.Second)
	c.Do(renew)
	if got := expiryOf(t, c, sessionOf(1)); got != session.Idle {
		t.Errorf("renewed after an hour, it ends in %s", got)
	}
	spent := session.Step
	for spent < session.Life-session.Idle {
		c.Wait(11 * time.Hour)
		spent += 11 * time.Hour
		c.Do(renew)
	}
	if got := expiryOf(t, c, sessionOf(1)); got != session.Life-spent {
		t.Errorf("%s after the sign-in, it ends in %s", spent, got)
	}
	c.Wait(session.Life - spent)
	wantCode(t, c.Try(renew), model.CodeNotFound)
}

func TestAnIdleSessionEnds(t *testing.T) {
	t.Parallel()
	c := signedIn(t)
	c.Wait(session.Idle)
	wantCode(t, c.Try(&command.RenewSession{Hash: sessionOf(1)}), model.CodeNotFound)
	wantCode(t, c.Try(&command.MakeSession{Hash: codeOf(1), From: sessionOf(1), Code: true}), model.CodeDenied)
	c.Do(&command.MakeSession{Hash: sessionOf(2), From: hashOf(2)})
	if c.State.Sessions.Has(sessionOf(1)) {
		t.Error("it is kept after the next sign-in")
	}
}

// Sessions have no longer life than their tokens.
func TestSessionsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]command.Body{
		"revoked": &command.DropTokens{Tokens: []model.Hash{hashOf(2)}},
		"removed": &command.RemoveUser{User: "ann"},
	} {
		c := signedIn(t)
		c.Do(&command.MakeToken{Hash: hashOf(3), User: "bob", Role: model.RoleUser})
		c.Do(&command.MakeSession{Hash: sessionOf(2), From: hashOf(3)})
		c.Do(&command.MakeSession{Hash: codeOf(1), From: hashOf(2), Code: true})
		c.Do(end)
		if c.State.Sessions.Len() != 1 || !c.State.Sessions.Has(sessionOf(2)) {
			t.Errorf("%s: %d sessions are left", name, c.State.Sessions.Len())
		}
	}
	c := guarded(t)
	c.Do(&command.MakeToken{Hash: hashOf(2), User: "ann", Role: model.RoleUser, Expires: c.Now.Add(2 * time.Hour)})
	c.Do(&command.MakeSession{Hash: sessionOf(1), From: hashOf(2)})
	if got := expiryOf(t, c, sessionOf(1)); got != 2*time.Hour {
		t.Errorf("a session of a token with two hours ends in %s", got)
	}
	c.Wait(2 * time.Hour)
	wantCode(t, c.Try(&command.MakeSession{Hash: sessionOf(2), From: hashOf(2)}), model.CodeDenied)
	c.Wait(model.KeepExpired + time.Hour)
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "bob", Role: model.RoleUser}) // which removes the old token
}

// A code is good once, and for a minute.
func TestACodeIsGoodOnce(t *testing.T) {
	t.Parallel()
	c := signedIn(t)
	c.Do(&command.MakeSession{Hash: codeOf(1), From: hashOf(2), Code: true})
	c.Do(&command.MakeSession{Hash: sessionOf(2), From: codeOf(1)})
	before := c.State.Sessions.Len()
	wantCode(t, c.Try(&command.MakeSession{Hash: sessionOf(3), From: codeOf(1)}), model.CodeDenied)
	c.Do(&command.MakeSession{Hash: codeOf(2), From: hashOf(2), Code: true})
	c.Wait(session.Brief)
	wantCode(t, c.Try(&command.MakeSession{Hash: sessionOf(3), From: codeOf(2)}), model.CodeDenied)
	for name, b := range map[string]*command.MakeSession{
		"a session from a session": {Hash: sessionOf(3), From: sessionOf(1)},
		"a code from a code":       {Hash: codeOf(3), From: codeOf(2), Code: true},
		"a code from the first":    {Hash: codeOf(3), From: hashOf(1), Code: true},
		"the first token":          {Hash: sessionOf(3), From: hashOf(1)},
		"an unknown token":         {Hash: sessionOf(3), From: hashOf(9)},
	} {
		if r := c.Try(b); r.Code != model.CodeDenied {
			t.Errorf("%s: %s", name, r.Code)
		}
	}
	if got := c.State.Sessions.Len(); got != before+1 { // the code that has expired
		t.Errorf("%d sessions and codes, there were %d", got, before)
	}
	wantCode(t, c.Try(&command.MakeSession{Hash: sessionOf(1), From: hashOf(2)}), model.CodeConflict)
	wantCode(t, c.Try(&command.DropTokens{Tokens: []model.Hash{codeOf(2)}}), model.CodeNotFound)
}

// A session that was handed over belongs to the same sign-in: it gets no more time, and ends with the others.
func TestASessionIsHandedOver(t *testing.T) {
	t.Parallel()
	c := signedIn(t)
	renew := &command.RenewSession{Hash: sessionOf(1)}
	for range 15 {
		c.Wait(11 * time.Hour)
		c.Do(renew)
	}
	c.Do(&command.MakeSession{Hash: codeOf(1), From: sessionOf(1), Code: true})
	c.Do(&command.MakeSession{Hash: sessionOf(2), From: codeOf(1)})
	if got, want := expiryOf(t, c, sessionOf(2)), session.Life-15*11*time.Hour; got != want {
		t.Errorf("handed over, it ends in %s, want %s", got, want)
	}
	c.Do(&command.MakeSession{Hash: codeOf(2), From: sessionOf(2), Code: true})
	c.Do(&command.MakeSession{Hash: sessionOf(3), From: codeOf(2)})
	c.Do(&command.MakeSession{Hash: sessionOf(4), From: hashOf(2)})
	c.Do(&command.MakeSession{Hash: codeOf(3), From: sessionOf(3), Code: true})
	c.Do(&command.DropTokens{Tokens: []model.Hash{sessionOf(2)}})
	if c.State.Sessions.Len() != 1 || !c.State.Sessions.Has(sessionOf(4)) || !c.State.Tokens.Has(hashOf(2)) {
		t.Errorf("%d sessions are left after one of a sign-in was ended", c.State.Sessions.Len())
	}
}

// Sign-ins fill nothing: the oldest session of a user ends, and none of another.
func TestAUserHasSoManySessions(t *testing.T) {
	t.Parallel()
	c := signedIn(t)
	c.Do(&command.MakeToken{Hash: hashOf(3), User: "bob", Role: model.RoleUser})
	c.Do(&command.MakeToken{Hash: hashOf(4), User: "bob"})
	for i := range session.MaxOf + 2 {
		c.Wait(time.Second)
		c.Do(&command.MakeSession{Hash: sessionOf(10 + i), From: hashOf(byte(3 + i%2))})
	}
	if c.State.Sessions.Len() != session.MaxOf+1 || c.State.Sessions.Has(sessionOf(10)) || c.State.Sessions.Has(sessionOf(11)) ||
		!c.State.Sessions.Has(sessionOf(1)) {
		t.Errorf("%d sessions are there", c.State.Sessions.Len())
	}
	for i := range session.MaxCodesOf + 1 {
		c.Wait(time.Second)
		c.Do(&command.MakeSession{Hash: codeOf(i), From: hashOf(3), Code: true})
	}
	wantCode(t, c.Try(&command.MakeSession{Hash: sessionOf(5), From: codeOf(0)}), model.CodeDenied)
	c.Do(&command.MakeSession{Hash: sessionOf(5), From: codeOf(1)})
}

// An admin's session is no token: it does not keep the last token of an admin from being needed.
func TestASessionIsNoAdminsToken(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.Do(&command.MakeToken{Hash: hashOf(2), User: "ann", Role: model.RoleAdmin, Spend: hashOf(1)})
	c.Do(&command.MakeSession{Hash: sessionOf(1), From: hashOf(2)})
	wantCode(t, c.Try(&command.DropTokens{Tokens: []model.Hash{hashOf(2)}}), model.CodeConflict)
	if !c.State.Sessions.Has(sessionOf(1)) {
		t.Error("the refused command has ended the session")
	}
}

// Check names what is wrong about sessions.
func TestCheckNamesBrokenSessions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*state.State){
		"of no token": func(s *state.State) {
			statetest.Put(&s.Sessions, sessionOf(1), func(r *session.Row) { r.Parent = hashOf(9) })
		},
		"of another user": func(s *state.State) {
			statetest.Put(&s.Sessions, sessionOf(1), func(r *session.Row) { r.User = "eve" })
		},
		"of a first token": func(s *state.State) {
			statetest.Put(&s.Sessions, sessionOf(1), func(r *session.Row) { r.Parent = hashOf(1) })
		},
		"after itself": func(s *state.State) {
			statetest.Put(&s.Sessions, sessionOf(1), func(r *session.Row) { r.First = r.Hash })
		},
		"too long": func(s *state.State) {
			statetest.Put(&s.Sessions, sessionOf(1), func(r *session.Row) { r.Expires = r.Began.Add(session.Life + 1) })
		},
		"a code that stays": func(s *state.State) {
			statetest.Put(&s.Sessions, codeOf(1), func(r *session.Row) { r.Expires = r.Made.Add(session.Brief + 1) })
		},
		"under another": func(s *state.State) {
			statetest.Put(&s.Sessions, sessionOf(1), func(r *session.Row) { r.Hash = sessionOf(2) })
		},
		"too many":       func(s *state.State) { copies(s, sessionOf(1), session.MaxOf) },
		"too many codes": func(s *state.State) { copies(s, codeOf(1), session.MaxCodesOf) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := signedIn(t)
			c.Do(&command.MakeSession{Hash: codeOf(1), From: hashOf(2), Code: true})
			s := c.State
			change(&s)
			if err := check.State(&s); !statetest.Names(err, check.References) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// copies adds copies of a session.
func copies(s *state.State, of model.Hash, many int) {
	rows := s.Sessions.Fork()
	row, _ := s.Sessions.Get(of)
	for i := range many {
		row.Hash = model.Hash{byte(i), 7}
		rows.Put(row.Hash, row)
	}
	s.Sessions = rows.Table()
}
