package config

import (
	"fmt"
	"slices"
	"sync"
)

// Reloader keeps the configuration of a running program, and reads it again on request.
type Reloader struct {
	check func(*Loaded) error

	mu   sync.Mutex
	now  *Loaded
	read bool // at least once since the start
	on   []taker
}

// taker receives new values of settings.
type taker struct {
	names []string
	take  func(*Config)
}

// NewReloader returns a reloader with the configuration of the start. check returns the errors with
// which the program could not start.
func NewReloader(now *Loaded, check func(*Loaded) error) *Reloader {
	return &Reloader{now: now, check: check}
}

// On registers a function that is called with the new configuration whenever one of the named
// settings has another value than before, or names a file with other content. The settings must be
// reloadable. If the configuration was already read again, take is called at once: no later call
// would report the earlier changes.
func (r *Reloader) On(take func(*Config), names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = append(r.on, taker{names, take})
	if r.read {
		take(r.now.Config)
	}
}

// Reload reads all layers again and takes over what can change while the program runs. It returns
// the settings that were taken over, and the other changed ones with the reason why they were not.
// If there is any error, nothing changes.
func (r *Reloader) Reload() (taken, left []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, err := Load(r.now.source)
	if err == nil {
		err = r.check(next)
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range r.now.table.rows {
		was, is := &r.now.table.rows[i], &next.table.rows[i]
		same := was.Value.Text() == is.Value.Text() && r.now.contents[is.Name] == next.contents[is.Name]
		if same || is.For&next.source.Program == 0 {
			continue
		}
		switch {
		case is.Cluster:
			left = append(left, fmt.Sprintf("%s belongs to the cluster: change it with berth config set", is.Name))
		case !is.Reload:
			left = append(left, is.Name+" takes effect at the next start")
		default:
			taken = append(taken, is.Name)
		}
	}
	for _, t := range r.on {
		if slices.ContainsFunc(t.names, func(name string) bool { return slices.Contains(taken, name) }) {
			t.take(next.Config)
		}
	}
	r.now, r.read = next, true
	return taken, left, nil
}
