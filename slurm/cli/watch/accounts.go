package watch

import (
	"os/user"
	"strconv"
)

// accounts are the accounts of this machine that were looked up, by the names of users.
type accounts map[string]*user.User

// noID is what Slurm has for a number that is not known.
const noID = "4294967294"

// get returns the account of a user; one that this machine does not have has no numbers.
func (a accounts) get(name string) *user.User {
	if u, known := a[name]; known {
		return u
	}
	u, err := user.Lookup(name)
	if err != nil {
		u = &user.User{Username: name, Uid: noID, Gid: noID}
	}
	a[name] = u
	return u
}

// group returns the name of a user's group.
func (a accounts) group(name string) string {
	if g, err := user.LookupGroupId(a.get(name).Gid); err == nil {
		return g.Name
	}
	return name
}

// userOf returns the user that a word of a command line names: a name, or the number of an account of this machine.
func userOf(word string) string {
	if _, err := strconv.ParseUint(word, 10, 32); err == nil {
		if u, err := user.LookupId(word); err == nil {
			return u.Username
		}
	}
	return word
}
