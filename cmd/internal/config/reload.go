package config

import (
	"fmt"
	"slices"
	"sync"
)

// Reloader keeps what a running program is configured with, and reads it anew.
type Reloader struct {
	check func(*Loaded) error

	mu   sync.Mutex
	now  *Loaded
	read bool // again, at least once
	on   []taker
}

// taker takes new values of settings over.
type taker struct {
	names []string
	take  func(*Config)
}

// NewReloader begins with what the program has started with. check says what the program
// could not start with.
func NewReloader(now *Loaded, check func(*Loaded) error) *Reloader {
	return &Reloader{now: now, check: check}
}

// On has take called with the new configuration whenever one of the settings has another
// value than before, or names a file that says something else. They must be such as can be
// reloaded. Where everything was read again before, take is called at once: what has changed
// by then nobody else tells it.
func (r *Reloader) On(take func(*Config), names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = append(r.on, taker{names, take})
	if r.read {
		take(r.now.Config)
	}
}

// Reload reads all layers again and takes over what can change while the program runs.
// It lists what was taken over, and says of all else that has changed why it was not.
// If anything is wrong, nothing changes.
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
			left = append(left, is.Name+" counts from the next start on")
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
