package state

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func applyFoundAuth(t *tx, b *command.FoundAuth) command.Result {
	if t.settings.Auth.On() || t.tokens.has(b.Token) || t.tokens.size() >= model.MaxTokens {
		return refuse(model.CodeConflict, "the cluster asks already who somebody is, or has no room for a token")
	}
	t.settings.Auth = model.Auth{Secret: b.Secret, Since: max(t.clock, 1)}
	t.tokens.put(model.Token{Hash: b.Token, Name: "first", Made: t.clock, By: t.actor, First: true})
	return ok()
}

func applyMakeToken(t *tx, b *command.MakeToken) command.Result {
	if !b.Spend.IsZero() {
		if first, found := t.tokens.get(b.Spend); !found || !first.First {
			return refuse(model.CodeDenied, "the first token was used already: ask whoever has used it")
		}
	}
	old := keysWhere(t.tokens.now().All(), func(v *model.Token) bool { return !v.Good(t.clock.Add(-model.KeepExpired)) })
	switch {
	case t.tokens.has(b.Hash):
		return refuse(model.CodeConflict, "there is such a token already")
	case b.Spend.IsZero() && t.tokens.size()-len(old) >= model.MaxTokens:
		return refuse(model.CodeLimit, "there are %d tokens, no more fit: revoke some that nobody uses", model.MaxTokens)
	}
	if b.Role != model.RoleAgent {
		if r := userOfToken(t, b); !r.OK() {
			return r
		}
	}
	if !b.Spend.IsZero() {
		t.tokens.delete(b.Spend)
	}
	for _, hash := range old {
		t.tokens.delete(hash)
	}
	t.tokens.put(model.Token{Hash: b.Hash, Name: b.Name, User: b.User, Role: b.Role, Made: t.clock, By: t.actor, Expires: b.Expires})
	return ok()
}

// userOfToken makes known whom a token is for.
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

func applySetUser(t *tx, b *command.SetUser) command.Result { return setUser(t, b) }

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

// membersOf lists the projects that a user is in.
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
	t.users.delete(name)
	return command.Result{Number: uint64(len(theirs))}
}

// tokenOf says of a token whether it is a user's.
func tokenOf(user string) func(*model.Token) bool {
	return func(v *model.Token) bool {
		name, human := v.Of()
		return human && name == user
	}
}

// locksOut says that somebody has a token for the role admin, and nobody would without
// some tokens: that cannot be undone by anybody.
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

func refuseLockout() command.Result {
	return refuse(model.CodeConflict, "nobody would be left who has a token for the role admin: make another first, with "+
		"berth token create --user NAME --role admin")
}
