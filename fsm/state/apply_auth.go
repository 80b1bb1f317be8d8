package state

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func applyFoundAuth(t *tx, b *command.FoundAuth) command.Result {
	lost := keysWhere(t.tokens.now().All(), func(v *model.Token) bool { return v.First && !v.Good(t.clock) })
	switch {
	case t.settings.Auth.On() && (b.Token.IsZero() || len(lost) == 0 || someAdmin(t)):
		return refuse(model.CodeConflict, "the cluster requires authentication already")
	case t.tokens.has(b.Token) || t.tokens.size()-len(lost) >= model.MaxTokens:
		return refuse(model.CodeConflict, "there is no room for another token: revoke some")
	}
	if !t.settings.Auth.On() {
		t.settings.Auth = model.Auth{Secret: b.Secret, Since: max(t.clock, 1)}
	}
	dropAll(t, lost)
	if !b.Token.IsZero() {
		t.tokens.put(model.Token{
			Hash: b.Token, Name: "first", Made: t.clock, By: t.actor, Expires: t.clock.Add(model.FirstTokenLife), First: true,
		})
	}
	return ok()
}

func dropAll(t *tx, tokens []model.Hash) {
	for _, hash := range tokens {
		t.tokens.delete(hash)
	}
}

func applyMakeToken(t *tx, b *command.MakeToken) command.Result {
	if !b.Spend.IsZero() {
		if first, found := t.tokens.get(b.Spend); !found || !first.First || !first.Good(t.clock) {
			return refuse(model.CodeDenied, "the first token was used already or has expired: ask an admin for a token")
		}
	}
	old := keysWhere(t.tokens.now().All(), func(v *model.Token) bool { return !v.Good(t.clock.Add(-model.KeepExpired)) })
	switch {
	case t.tokens.has(b.Hash):
		return refuse(model.CodeConflict, "there is such a token already")
	case b.Spend.IsZero() && t.tokens.size()-len(old) >= model.MaxTokens:
		return refuse(model.CodeLimit, "there are %d tokens, no more fit: revoke some that are not in use", model.MaxTokens)
	}
	if b.Role != model.RoleAgent {
		own := keysWhere(t.tokens.now().All(), func(v *model.Token) bool { return v.User == b.User && v.Good(t.clock) })
		if len(own) >= MaxTokensOf {
			return refuse(model.CodeLimit, "user %s has %d tokens, as many as one user may have: revoke some", b.User, len(own))
		}
		if r := userOfToken(t, b); !r.OK() {
			return r
		}
	}
	dropAll(t, old)
	t.tokens.put(model.Token{Hash: b.Hash, Name: b.Name, User: b.User, Role: b.Role, Made: t.clock, By: t.actor, Expires: b.Expires})
	spendFirst(t)
	return ok()
}

// spendFirst drops the first token as soon as an admin has one.
func spendFirst(t *tx) {
	if someAdmin(t) {
		dropAll(t, keysWhere(t.tokens.now().All(), func(v *model.Token) bool { return v.First }))
	}
}

// userOfToken creates the user of a token.
func userOfToken(t *tx, b *command.MakeToken) command.Result {
	u, found := t.users.get(model.UserName(b.User))
	switch {
	case found && b.Role > u.Role:
		return refuse(model.CodeConflict, "%s has the role %s, so that no token of theirs can have %s: raise their role first, with "+
			"berth user set", b.User, u.Role, b.Role)
	case found:
		return ok()
	case b.Role == model.RoleNone:
		return refuse(model.CodeNotFound, "there is no user %s: give a role, and there will be", b.User)
	}
	return setUser(t, &command.SetUser{User: b.User, Role: b.Role})
}

func applyDropTokens(t *tx, b *command.DropTokens) command.Result {
	if locksOut(t, func(v *model.Token) bool { return slices.Contains(b.Tokens, v.Hash) }) {
		return refuseLockout()
	}
	dropped := uint64(0)
	for _, hash := range b.Tokens {
		if t.tokens.has(hash) {
			t.tokens.delete(hash)
			dropped++
		}
	}
	if dropped == 0 {
		return refuse(model.CodeNotFound, "there is no such token")
	}
	return command.Result{Number: dropped}
}

func applySetUser(t *tx, b *command.SetUser) command.Result {
	r := setUser(t, b)
	spendFirst(t)
	return r
}

func setUser(t *tx, b *command.SetUser) command.Result {
	u, found := t.users.get(model.UserName(b.User))
	switch {
	case found && u.Role == model.RoleAdmin && b.Role != model.RoleNone && b.Role != u.Role && locksOut(t, tokenOf(b.User)):
		return refuseLockout()
	case !found && b.Role == model.RoleNone:
		return refuse(model.CodeNotFound, "there is no user %s: give a role, and there will be", b.User)
	case !found && t.users.size() >= model.MaxUsers:
		return refuse(model.CodeLimit, "there are %d users, no more fit: remove some", model.MaxUsers)
	case !found:
		u = model.User{Name: b.User, Made: t.clock, By: t.actor}
	}
	members, places := map[string]bool{}, 0
	for _, k := range membersOf(t, b.User) {
		members[k.Project] = true
		places++
	}
	for _, p := range b.Leave {
		if members[p] {
			members[p] = false
			places--
		}
	}
	for _, p := range b.Join {
		if !members[p] {
			members[p] = true
			places++
		}
	}
	if places > model.MaxProjects {
		return refuse(model.CodeLimit, "%s would be in %d projects, at most are %d", b.User, places, model.MaxProjects)
	}
	if b.Role != model.RoleNone {
		u.Role = b.Role
	}
	t.users.put(u)
	for _, p := range b.Leave {
		t.members.delete(model.MemberKey{User: b.User, Project: p})
	}
	for _, p := range b.Join {
		t.members.put(model.Member{Key: model.MemberKey{User: b.User, Project: p}, By: t.actor})
	}
	return ok()
}

// membersOf returns the projects of a user.
func membersOf(t *tx, user string) []model.MemberKey {
	return keysOf(t.members.now().From(model.MemberKey{User: user}), func(k model.MemberKey) bool { return k.User == user })
}

func applyRemoveUser(t *tx, b *command.RemoveUser) command.Result {
	name := model.UserName(b.User)
	if !t.users.has(name) {
		return refuse(model.CodeNotFound, "there is no user %s", b.User)
	}
	if locksOut(t, tokenOf(b.User)) {
		return refuseLockout()
	}
	theirs := keysWhere(t.tokens.now().All(), tokenOf(b.User))
	for _, hash := range theirs {
		t.tokens.delete(hash)
	}
	for _, k := range membersOf(t, b.User) {
		t.members.delete(k)
	}
	scope := model.ScopeKey{Kind: model.ScopeUser, Name: b.User}
	for _, id := range keysWhere(t.webhooks.now().All(), func(w *model.Webhook) bool { return w.Scope == scope }) {
		dropWebhook(t, id)
	}
	for _, id := range keysWhere(t.bookings.now().All(), func(v *model.Booking) bool { return v.Owner == scope }) {
		if booking, found := t.bookings.get(id); found {
			endBooking(t, &booking)
		}
	}
	t.forgetRequests("user:" + b.User)
	t.users.delete(name)
	return command.Result{Number: uint64(len(theirs))}
}

// tokenOf reports whether a token is a user's.
func tokenOf(user string) func(*model.Token) bool {
	return func(v *model.Token) bool {
		name, human := v.Of()
		return human && name == user
	}
}

// locksOut reports whether there is a token for the role admin, and none would be left without some tokens:
// that could never be undone.
func locksOut(t *tx, without func(*model.Token) bool) bool {
	some := false
	for _, v := range t.tokens.now().All() {
		name, human := v.Of()
		if user, _ := t.users.get(model.UserName(name)); human && v.Good(t.clock) && v.Allows(user.Role) == model.RoleAdmin {
			if !without(&v) {
				return false
			}
			some = true
		}
	}
	return some
}

// someAdmin reports whether a token is valid for the role admin.
func someAdmin(t *tx) bool { return locksOut(t, func(*model.Token) bool { return true }) }

func refuseLockout() command.Result {
	return refuse(model.CodeConflict, "no token for the role admin would be left: create another first, with "+
		"berth token create --user NAME --role admin")
}
