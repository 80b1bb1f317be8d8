package state

import (
	"slices"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
)

// Reserved reports whether no account at the identity provider may be the user of a name: root and anonymous are callers of the
// cluster's own.
func Reserved(name string) bool {
	return strings.EqualFold(name, "root") || strings.EqualFold(name, "anonymous")
}

// IsReserved returns why an account at the identity provider cannot be the user of a reserved name.
func IsReserved(name string) string {
	return name + " is reserved, so that no account at the identity provider can be that user: the account needs another name there"
}

// NameOf returns the name of the user of an account at the identity provider: the one under which the account has signed in first, whatever
// the provider calls the account now, unless an admin has given the new name to the account that signs in next under it.
func NameOf(s *State, called string, account model.Hash) string {
	if u, found := s.Users.Get(model.UserName(called)); found && u.Takes(account) {
		return called
	}
	for _, u := range s.Users.All() {
		if u.Subject == account && !account.IsZero() {
			return u.Name
		}
	}
	return called
}

// NotOf returns why an account at the identity provider cannot sign in as a user that does not take it, and what to do.
func NotOf(u *model.User) string {
	remedy := ": an admin can give the name to your account with berth user set " + u.Name + " --provider"
	if u.Subject.IsZero() {
		return u.Name + " is a user of this cluster that does not sign in with the identity provider" + remedy
	}
	return u.Name + " is the user of another account at the identity provider" + remedy + ", or remove the user first"
}

// Stands reports whether a user has what the identity provider has stated about an account: the role, and of the projects those that
// no admin has added.
func Stands(s *State, name string, account model.Hash, role model.Role, projects []string) bool {
	u, found := s.Users.Get(model.UserName(name))
	if !found || u.Subject != account || u.Role != role || u.Binds {
		return false
	}
	member := map[string]bool{}
	for k, m := range s.Members.From(model.MemberKey{User: name}) {
		if k.User != name {
			break
		}
		if member[k.Project] = true; m.By == model.ByProvider && !slices.Contains(projects, k.Project) {
			return false
		}
	}
	return !slices.ContainsFunc(projects, func(p string) bool { return !member[p] })
}
