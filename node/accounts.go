package node

import (
	"maps"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// accountsEvery is the interval at which accounts are looked up that the host lacked.
const accountsEvery = 30 * time.Second

// accounts are the users of jobs whose account the host lacked when such a job was to start. They are reported, so that
// their jobs go elsewhere, until the account is there.
type accounts struct {
	*core
	missing map[string]bool
	next    time.Time
	busy    bool
	changed func()
}

func newAccounts(c *core, changed func()) *accounts {
	return &accounts{core: c, missing: map[string]bool{}, changed: changed}
}

// lacks notes that the host has no account for a user.
func (a *accounts) lacks(user string) {
	if a.Account == nil || a.missing[user] || len(a.missing) == model.MaxMissing {
		return
	}
	a.missing[user] = true
	a.next = later(accountsEvery)
	a.Log.Warn("no account for a user: jobs of the user go to other nodes", "user", user)
	a.changed()
}

// list returns the users, sorted.
func (a *accounts) list() []string { return slices.Sorted(maps.Keys(a.missing)) }

// watch looks the accounts up that were missing.
func (a *accounts) watch() {
	if len(a.missing) == 0 || a.busy || !due(a.next) {
		return
	}
	a.busy = true
	users := a.list()
	a.background(func() func() {
		found := slices.DeleteFunc(users, func(user string) bool { return a.Account(user) != nil })
		return func() {
			a.busy, a.next = false, later(accountsEvery)
			for _, user := range found {
				delete(a.missing, user)
				a.Log.Info("the account of a user is there: jobs of the user start here again", "user", user)
			}
			if len(found) > 0 {
				a.changed()
			}
		}
	})
}
