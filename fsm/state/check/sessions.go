package check

import (
	"github.com/berth-gpu/berth/fsm/model/session"
)

// checkSessions: each session and code is that of a user's token, ends with the token at the latest and in the time that it has, and no user has too many.
func checkSessions(c *checker) {
	sessions, codes := map[string]int{}, map[string]int{}
	for hash, v := range c.s.Sessions.All() {
		parent, found := c.s.Tokens.Get(v.Parent)
		user, human := parent.Of()
		c.hold(found && human && user == v.User, References, "session %x is user %q's of token %x, which is %q's", hash[:4], v.User, v.Parent[:4], user)
		c.hold(v.First != v.Hash, References, "session %x was handed over from itself", hash[:4])
		if v.Code {
			codes[v.User]++
			c.hold(codes[v.User] <= session.MaxCodesOf, References, "user %q has %d codes", v.User, codes[v.User])
			c.hold(v.Expires <= v.Made.Add(session.Brief), References, "code %x is from %d to %d", hash[:4], v.Made, v.Expires)
			continue
		}
		sessions[v.User]++
		c.hold(v.Expires <= v.Began.Add(session.Life) && (parent.Expires == 0 || v.Expires <= parent.Expires), References,
			"session %x began at %d and expires at %d, its token at %d", hash[:4], v.Began, v.Expires, parent.Expires)
		c.hold(sessions[v.User] <= session.MaxOf, References, "user %q has %d sessions", v.User, sessions[v.User])
	}
	c.hold(c.s.Sessions.Len() <= session.Max, References, "%d sessions are kept", c.s.Sessions.Len())
}

// moveSessions: of a session only its end changes, and that only forward.
func moveSessions(m *mover) {
	for hash, a := range m.was.Sessions.All() {
		b, found := m.s.Sessions.Get(hash)
		if !found {
			continue
		}
		m.hold(b.Expires >= a.Expires, OnlyForward, "session %x expired at %d and now at %d", hash[:4], a.Expires, b.Expires)
		b.Expires = a.Expires
		m.hold(a == b, OnlyForward, "session %x was %+v and is %+v", hash[:4], a, b)
	}
}
