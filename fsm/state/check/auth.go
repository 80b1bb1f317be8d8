package check

import "github.com/berth-gpu/berth/fsm/model"

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
	places := map[string]int{}
	for k := range c.s.Members.All() {
		places[k.User]++
		c.hold(c.s.Users.Has(model.UserName(k.User)), References, "user %q is in project %q and is not there", k.User, k.Project)
		c.hold(places[k.User] <= model.MaxProjects, References, "user %q is in %d projects", k.User, places[k.User])
	}
}
