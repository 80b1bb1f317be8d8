package state

import (
	"slices"

	"github.com/berth-gpu/berth/fsm/model"
)

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
