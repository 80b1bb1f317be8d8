package auth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/berth-gpu/berth/fsm/model"
)

// MinKey is the length of the shortest accepted key, in bytes.
const MinKey = 16

// Key is the owner of a key of the configuration.
type Key struct {
	Name     string // of the service, or the user
	Human    bool   // it is a user
	Role     model.Role
	Projects []string // that jobs may be submitted in
}

// Keys holds the keys of the configuration. The zero value holds none.
type Keys struct {
	Header string // that carries a key, in addition to the usual ones; empty: none
	known  map[model.Hash]Key
	owners map[string]bool
}

// Add adds a key. Its errors never quote the key.
func (k *Keys) Add(secret string, as Key) error {
	hash := HashOf(secret)
	_, twice := k.known[hash]
	switch {
	case len(secret) < MinKey || len(secret) > maxSecret:
		return fmt.Errorf("the key of %q has %d bytes: give it %d to %d", as.Name, len(secret), MinKey, maxSecret)
	case clean(secret) != secret || strings.ContainsFunc(secret, unicode.IsControl):
		return fmt.Errorf("the key of %q begins or ends with a space, or contains control characters, which no request can carry: remove them", as.Name)
	case !model.Name(as.Name):
		return fmt.Errorf("a key has no valid name: give its service or user: %w", model.WantName("name", as.Name))
	case !as.Role.Human():
		return fmt.Errorf("the key of %q has an unknown role: give it viewer, user, operator or admin", as.Name)
	case twice:
		return fmt.Errorf("the key of %q is given twice", as.Name)
	}
	if k.known == nil {
		k.known, k.owners = map[model.Hash]Key{}, map[string]bool{}
	}
	k.known[hash], k.owners[as.Name] = as, true
	return nil
}

// Find returns the owner of a key, by its hash.
func (k *Keys) Find(hash model.Hash) (Key, bool) {
	key, found := k.known[hash]
	return key, found
}

// Has reports whether a service or a user of a name has a key.
func (k *Keys) Has(name string) bool { return k.owners[name] }

// Owners returns the names of the services and users that have keys, in order.
func (k *Keys) Owners() []string { return slices.Sorted(maps.Keys(k.owners)) }

// Admin reports whether a key has the role admin.
func (k *Keys) Admin() bool {
	for _, key := range k.known { // order-free: any of them
		if key.Role == model.RoleAdmin {
			return true
		}
	}
	return false
}

// Len returns how many keys there are.
func (k *Keys) Len() int { return len(k.known) }
