package check

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/membership"
	"github.com/berth-gpu/berth/fsm/model/session"
)

// checkAuth: tokens and memberships are those of existing users, there is only one first token, and tokens of machines
// expire.
func checkAuth(c *checker) {
	auth := c.s.Settings().Auth
	first := 0
	for hash, token := range c.s.Tokens.All() {
		user, human := token.Of()
		c.hold(!human || c.s.Users.Has(model.UserName(user)), References, "token %x is that of user %q, which does not exist", hash[:4], user)
		c.hold(token.Role == model.RoleNone || token.Role.Valid(), References, "token %x has role %d", hash[:4], token.Role)
		c.hold(!token.Joins() || token.Expires > 0, References, "token %x lets a machine join, and never expires", hash[:4])
		if token.First {
			first++
		}
	}
	c.hold(first == 0 || first == 1 && auth.On(), References, "there are %d first tokens", first)
	c.hold(c.s.Tokens.Len() <= model.MaxTokens, References, "%d tokens are kept", c.s.Tokens.Len())
	c.hold(c.s.Users.Len() <= model.MaxUsers, References, "%d users are kept", c.s.Users.Len())
	for name, u := range c.s.Users.All() {
		c.hold(u.Role.Human(), References, "user %s has role %d", name, u.Role)
	}
	for m, v := range c.s.Certificates.All() {
		c.hold(v.Since <= v.Expires && (v.Since <= v.Issued || v.Revoked), References, "of %s, certificates since %d count, and the newest is from %d to %d", m, v.Since, v.Issued, v.Expires)
	}
	checkSessions(c)
	checkTrust(c)
	places := map[string]int{}
	for k := range c.s.Members.All() {
		places[k.User]++
		c.hold(c.s.Users.Has(model.UserName(k.User)), References, "user %q is in project %q and is not there", k.User, k.Project)
		c.hold(places[k.User] <= model.MaxProjects, References, "user %q is in %d projects", k.User, places[k.User])
	}
}

// checkTrust: what is accepted besides what is in use belongs to the rotation that is under way, and no member uses a
// revision that there is not.
func checkTrust(c *checker) {
	t := c.s.Trust()
	rotating := func(r membership.Rotation) bool { return t.Rotation == r }
	c.hold(t.Rotation == membership.RotationNone || t.Rotation.Valid(), References, "rotation %d is under way", t.Rotation)
	c.hold((t.Accepted != "") == rotating(membership.RotationAuthority), References, "another authority is accepted during a rotation of %q", t.Rotation)
	c.hold((t.NextLink != "") == (rotating(membership.RotationAuthority) && !t.Switched), References, "a next link is there during a rotation of %q", t.Rotation)
	c.hold(!t.Switched || t.Accepted != "", References, "a rotation of %q has switched", t.Rotation)
	c.hold(t.Accepted == "" || t.Accepted != t.Authority, References, "the authority is accepted twice")
	for m, v := range c.s.Certificates.All() {
		c.hold(v.Revision <= t.Revision, References, "%s uses revision %d, and the newest is %d", m, v.Revision, t.Revision)
	}
}

// moveTrust: a credential is used by a member only once all members accept it, and it is accepted until all members use
// its successor.
func moveTrust(m *mover) {
	a, b := m.was.Trust(), m.s.Trust()
	m.hold(b.Revision >= a.Revision, OnlyForward, "the trust goes from revision %d to %d", a.Revision, b.Revision)
	if b.Revision == a.Revision || !m.one {
		return
	}
	m.hold(b.Revision == a.Revision+1, OnlyForward, "the trust goes from revision %d to %d", a.Revision, b.Revision)
	m.hold(a.Authority == "" || b.Authority == a.Authority || b.Authority == a.Accepted && b.Accepted == a.Authority, OnlyForward,
		"another authority signs, which was not accepted before, or the former one is not accepted any more")
	if behind, _ := m.was.Trusted().Behind(a.Revision, m.s.Settings().Clock); a.Switched || b.Switched {
		m.hold(len(behind) == 0, OnlyForward, "a rotation goes on without %v", behind)
	}
}

// checkSessions: each session and code is that of a user's token, ends with the token at the latest and in the time that it has, and no
// user has too many.
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
