package admin

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply/bookings"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// firstTokenLife is how long the first token is valid.
const firstTokenLife = time.Hour

// FoundAuth switches authentication on, with a first token for an administrator if the command has one.
func FoundAuth(t *tx.Tx, b *command.FoundAuth) command.Result {
	lost := tx.KeysWhere(t.Tokens.Now().All(), func(v *model.Token) bool { return v.First && !v.Good(t.Clock) })
	switch {
	case t.Settings.Auth.On() && (b.Token.IsZero() || len(lost) == 0 || someAdmin(t)):
		return tx.Refuse(model.CodeConflict, "the cluster requires authentication already")
	case t.Tokens.Has(b.Token) || t.Tokens.Size()-len(lost) >= model.MaxTokens:
		return tx.Refuse(model.CodeConflict, "there is no room for another token: revoke some")
	}
	if !t.Settings.Auth.On() {
		t.Settings.Auth = model.Auth{Since: max(t.Clock, 1)}
	}
	dropAll(t, lost)
	if !b.Token.IsZero() {
		t.Tokens.Put(model.Token{
			Hash: b.Token, Name: "first", Made: t.Clock, By: t.Actor, Expires: t.Clock.Add(firstTokenLife), First: true,
		})
	}
	return tx.OK()
}

// dropAll removes tokens with their sessions.
func dropAll(t *tx.Tx, tokens []model.Hash) {
	for _, hash := range tokens {
		t.Tokens.Delete(hash)
	}
	if len(tokens) > 0 {
		dropSessions(t, tokens)
	}
}

// MakeToken adds a token, and its user if the user is new.
func MakeToken(t *tx.Tx, b *command.MakeToken) command.Result {
	if !b.Spend.IsZero() {
		if first, found := t.Tokens.Get(b.Spend); !found || !first.First || !first.Good(t.Clock) {
			return tx.Refuse(model.CodeDenied, "the first token was used already or has expired: ask an admin for a token")
		}
	}
	if t.Tokens.Has(b.Hash) {
		return tx.Refuse(model.CodeConflict, "there is such a token already")
	}
	gone, r := roomForToken(t, b)
	if !r.OK() {
		return r
	}
	if !b.Role.Machine() {
		if r := userOfToken(t, b); !r.OK() {
			return r
		}
	}
	dropAll(t, gone)
	t.Tokens.Put(model.Token{
		Hash: b.Hash, Name: b.Name, User: b.User, Role: b.Role, Made: t.Clock, By: t.Actor, Expires: b.Expires,
		Network: b.Network, Hosts: b.Hosts,
	})
	spendFirst(t)
	return tx.OK()
}

// roomForToken returns the tokens that go so that another fits: those that have expired long ago, and where a user or all users together
// have as many as they may have, others that have expired.
func roomForToken(t *tx.Tx, b *command.MakeToken) ([]model.Hash, command.Result) {
	var gone []model.Hash
	var own, over []model.Token // of the same user; of all, expired
	for _, v := range t.Tokens.Now().All() {
		if !v.Good(t.Clock.Add(-model.KeepExpired)) {
			gone = append(gone, v.Hash)
			continue
		}
		if user, human := v.Of(); human && user == b.User && !b.Role.Machine() {
			own = append(own, v)
		}
		if !v.Good(t.Clock) {
			over = append(over, v)
		}
	}
	slices.SortFunc(over, func(x, y model.Token) int {
		return cmp.Or(cmp.Compare(rankOfEnded(&x), rankOfEnded(&y)), cmp.Compare(x.Expires, y.Expires), x.Hash.Compare(y.Hash))
	})
	many := len(own)
	drop := func(v model.Token) bool {
		user, human := v.Of()
		if mine := human && user == b.User && !b.Role.Machine(); mine && many >= state.MaxTokensOf {
			gone, many = append(gone, v.Hash), many-1
			return true
		}
		return false
	}
	over = slices.DeleteFunc(over, drop)
	if many >= state.MaxTokensOf {
		return nil, tx.Refuse(model.CodeLimit, "user %s has %d tokens, as many as one user may have: revoke some", b.User, many)
	}
	most := model.MaxTokens
	if b.Capped {
		most -= most / state.OperatorPart
	}
	for len(over) > 0 && t.Tokens.Size()-len(gone) >= most {
		gone, over = append(gone, over[0].Hash), over[1:]
	}
	if n := t.Tokens.Size() - len(gone); b.Spend.IsZero() && n >= most {
		return nil, tx.Refuse(model.CodeLimit, "there are %d tokens, and there may be %d, of which a tenth is kept for operators: revoke some that are not in use", n, model.MaxTokens)
	}
	return gone, tx.OK()
}

// rankOfEnded returns the place of an expired token among those that make room: first those that their users have made for themselves.
func rankOfEnded(v *model.Token) int {
	if user, human := v.Of(); human && v.By == "user:"+user {
		return 0
	}
	return 1
}

// spendFirst drops the first token as soon as an admin has one.
func spendFirst(t *tx.Tx) {
	if someAdmin(t) {
		dropAll(t, tx.KeysWhere(t.Tokens.Now().All(), func(v *model.Token) bool { return v.First }))
	}
}

// userOfToken creates the user of a token.
func userOfToken(t *tx.Tx, b *command.MakeToken) command.Result {
	u, found := t.Users.Get(model.UserName(b.User))
	switch {
	case found && b.Role > u.Role:
		return tx.Refuse(model.CodeConflict, "%s has the role %s, so that no token of theirs can have %s: raise their role first, with "+
			"berth user set", b.User, u.Role, b.Role)
	case found:
		return tx.OK()
	case b.Role == model.RoleNone:
		return tx.Refuse(model.CodeNotFound, "there is no user %s: give a role, and there will be", b.User)
	}
	return setUser(t, &command.SetUser{User: b.User, Role: b.Role})
}

// DropTokens removes tokens with their sessions, and ends sessions.
func DropTokens(t *tx.Tx, b *command.DropTokens) command.Result {
	if locksOut(t, func(v *model.Token) bool { return slices.Contains(b.Tokens, v.Hash) }) {
		return refuseLockout()
	}
	dropped := uint64(0)
	for _, hash := range b.Tokens {
		if row, found := t.Sessions.Get(hash); found && !row.Code {
			endSession(t, &row)
			dropped++
		}
		if t.Tokens.Has(hash) {
			dropAll(t, []model.Hash{hash})
			dropped++
		}
	}
	if dropped == 0 {
		return tx.Refuse(model.CodeNotFound, "there is no such token")
	}
	return command.Result{Number: dropped}
}

// SetUser adds a user or changes the user's role and projects.
func SetUser(t *tx.Tx, b *command.SetUser) command.Result {
	r := setUser(t, b)
	spendFirst(t)
	return r
}

func setUser(t *tx.Tx, b *command.SetUser) command.Result {
	u, found := t.Users.Get(model.UserName(b.User))
	states := !b.Subject.IsZero()
	switch {
	case (states || b.Bind) && state.Reserved(b.User):
		return tx.Refuse(model.CodeDenied, "%s", state.IsReserved(b.User))
	case found && states && !u.Takes(b.Subject):
		return tx.Refuse(model.CodeDenied, "%s", state.NotOf(&u))
	case found && states && u.Subject == b.Subject && b.Stated < u.Stated:
		return tx.Refuse(model.CodeConflict, "the identity provider has stated later what the role and the projects of %s are: sign in again", b.User)
	case found && u.Role == model.RoleAdmin && b.Role != model.RoleNone && b.Role != u.Role && locksOut(t, tokenOf(b.User)):
		return refuseLockout()
	case !found && b.Role == model.RoleNone:
		return tx.Refuse(model.CodeNotFound, "there is no user %s: give a role, and there will be", b.User)
	case !found && states && t.Users.Size() >= model.MaxUsers-model.MaxUsers/state.OperatorPart:
		return tx.Refuse(model.CodeLimit, "there are %d users, and no more that sign in with the identity provider fit: an admin can remove some", t.Users.Size())
	case !found && t.Users.Size() >= model.MaxUsers:
		return tx.Refuse(model.CodeLimit, "there are %d users, no more fit: remove some", model.MaxUsers)
	case !found:
		u = model.User{Name: b.User, Made: t.Clock, By: t.Actor}
	}
	if before := accountOf(t, b.Subject); states && before != "" && before != b.User {
		if !u.Binds {
			return tx.Refuse(model.CodeDenied, "this account at the identity provider is the user %s here: sign in again as that user", before)
		}
		unbind(t, before)
	}
	leave, join := b.Leave, b.Join
	if states {
		leave, join = stated(t, b)
		u.Subject, u.Stated, u.Binds = b.Subject, b.Stated, false
	}
	if b.Bind {
		u.Subject, u.Stated, u.Binds = model.Hash{}, 0, true
	}
	if places := placesOf(t, b.User, leave, join); places > model.MaxProjects {
		return tx.Refuse(model.CodeLimit, "%s would be in %d projects, at most are %d", b.User, places, model.MaxProjects)
	}
	if b.Role != model.RoleNone {
		u.Role = b.Role
	}
	t.Users.Put(u)
	by := t.Actor
	if states {
		by = model.ByProvider
	}
	for _, p := range leave {
		t.Members.Delete(model.MemberKey{User: b.User, Project: p})
	}
	for _, p := range join {
		t.Members.Put(model.Member{Key: model.MemberKey{User: b.User, Project: p}, By: by})
	}
	return tx.OK()
}

// accountOf returns the name of the user of an account at the identity provider; empty: there is none.
func accountOf(t *tx.Tx, account model.Hash) string {
	for _, u := range t.Users.Now().All() {
		if u.Subject == account && !account.IsZero() {
			return u.Name
		}
	}
	return ""
}

// unbind makes the user of an account at the identity provider a local one, because an admin has given another name to the account.
func unbind(t *tx.Tx, name string) {
	u, _ := t.Users.Get(model.UserName(name))
	u.Subject, u.Stated = model.Hash{}, 0
	t.Users.Put(u)
}

// stated returns which projects a user leaves and joins by a statement of the identity provider: memberships that an admin has
// made stay as they are.
func stated(t *tx.Tx, b *command.SetUser) (leave, join []string) {
	kept := map[string]bool{}
	for _, k := range membersOf(t, b.User) {
		m, _ := t.Members.Get(k)
		switch {
		case m.By != model.ByProvider || slices.Contains(b.Join, k.Project):
			kept[k.Project] = true
		default:
			leave = append(leave, k.Project)
		}
	}
	for _, p := range b.Join {
		if !kept[p] {
			join = append(join, p)
		}
	}
	return leave, join
}

// placesOf returns in how many projects a user is after leaving some and joining others.
func placesOf(t *tx.Tx, user string, leave, join []string) int {
	members, places := map[string]bool{}, 0
	for _, k := range membersOf(t, user) {
		members[k.Project] = true
		places++
	}
	for _, p := range leave {
		if members[p] {
			members[p] = false
			places--
		}
	}
	for _, p := range join {
		if !members[p] {
			members[p] = true
			places++
		}
	}
	return places
}

// membersOf returns the projects of a user.
func membersOf(t *tx.Tx, user string) []model.MemberKey {
	return tx.KeysOf(t.Members.Now().From(model.MemberKey{User: user}), func(k model.MemberKey) bool { return k.User == user })
}

// RemoveUser removes a user with the tokens, memberships, webhooks and bookings of the user.
func RemoveUser(t *tx.Tx, b *command.RemoveUser) command.Result {
	name := model.UserName(b.User)
	if !t.Users.Has(name) {
		return tx.Refuse(model.CodeNotFound, "there is no user %s", b.User)
	}
	if locksOut(t, tokenOf(b.User)) {
		return refuseLockout()
	}
	theirs := tx.KeysWhere(t.Tokens.Now().All(), tokenOf(b.User))
	dropAll(t, theirs)
	for _, k := range membersOf(t, b.User) {
		t.Members.Delete(k)
	}
	scope := model.ScopeKey{Kind: model.ScopeUser, Name: b.User}
	for _, id := range tx.KeysWhere(t.Webhooks.Now().All(), func(w *outbox.Webhook) bool { return w.Scope == scope }) {
		dropWebhook(t, id)
	}
	for _, id := range tx.KeysWhere(t.Bookings.Now().All(), func(v *model.Booking) bool { return v.Owner == scope }) {
		if booking, found := t.Bookings.Get(id); found {
			bookings.EndBooking(t, &booking)
		}
	}
	t.ForgetRequests("user:" + b.User)
	t.Users.Delete(name)
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
func locksOut(t *tx.Tx, without func(*model.Token) bool) bool {
	some := false
	for _, v := range t.Tokens.Now().All() {
		name, human := v.Of()
		if user, _ := t.Users.Get(model.UserName(name)); human && v.Good(t.Clock) && v.Allows(user.Role) == model.RoleAdmin {
			if !without(&v) {
				return false
			}
			some = true
		}
	}
	return some
}

// someAdmin reports whether a token is valid for the role admin.
func someAdmin(t *tx.Tx) bool { return locksOut(t, func(*model.Token) bool { return true }) }

func refuseLockout() command.Result {
	return tx.Refuse(model.CodeConflict, "no token for the role admin would be left: create another first, with "+
		"berth token create --user NAME --role admin")
}
