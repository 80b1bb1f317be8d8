package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// RunFolder is a node's run folder, see the package's comment: one for each data
// folder, which does not outlive the kernel.
type RunFolder struct {
	Path string
	Boot string // the kernel's boot id
}

// leaseMark is the content of the lease's file.
type leaseMark struct {
	Boot  string
	Start time.Duration
	Away  time.Duration `json:",omitempty"` // an instant at which nobody led
}

// Events is the path of the pipe on which supervisors wake the agent.
func (r RunFolder) Events() string { return filepath.Join(r.Path, "events") }

// Lease is the start of the node's lease, as CLOCK_BOOTTIME; 0: there is none, or
// none of this life of the kernel.
func (r RunFolder) Lease() time.Duration { return r.lease().Start }

// Alive is the instant from which what runs may run on: the start of the lease, or a
// later one at which nobody led. Nothing may start because of the latter.
func (r RunFolder) Alive() time.Duration {
	m := r.lease()
	return max(m.Start, m.Away)
}

func (r RunFolder) lease() (m leaseMark) {
	if r.get("lease", &m) != nil || m.Boot != r.Boot {
		return leaseMark{Boot: r.Boot}
	}
	return m
}

// SetLease moves the start of the lease; it never moves back.
func (r RunFolder) SetLease(start time.Duration) error {
	m := r.lease()
	if start <= m.Start {
		return nil
	}
	m.Start = start
	return r.put("lease", m)
}

// SetAway notes an instant at which nobody led.
func (r RunFolder) SetAway(at time.Duration) error {
	m := r.lease()
	if at <= m.Away {
		return nil
	}
	m.Away = at
	return r.put("lease", m)
}

// Orders reads what the agent wants of the rank whose folder has that name.
func (r RunFolder) Orders(name string) (Orders, error) {
	var o Orders
	return o, r.get(name+".orders", &o)
}

// SetOrders replaces it.
func (r RunFolder) SetOrders(name string, o Orders) error { return r.put(name+".orders", o) }

// Status reads how far the rank's supervisor has got.
func (r RunFolder) Status(name string) (Status, error) {
	var s Status
	if err := r.get(name+".status", &s); err != nil {
		return s, err
	}
	if s.Boot != r.Boot {
		return Status{}, fmt.Errorf("the status of %s is of another boot: %w", name, os.ErrNotExist)
	}
	return s, nil
}

// SetStatus replaces it.
func (r RunFolder) SetStatus(name string, s Status) error {
	s.Boot = r.Boot
	return r.put(name+".status", s)
}

// Forget removes a rank's orders and status.
func (r RunFolder) Forget(name string) {
	for _, suffix := range []string{".orders", ".status"} {
		_ = os.Remove(filepath.Join(r.Path, name+suffix)) // what stays goes with the kernel
	}
}

func (r RunFolder) get(name string, v any) error {
	path := filepath.Join(r.Path, name)
	data, err := os.ReadFile(path) //nolint:gosec // a file of the node's own folder
	if err != nil {
		return err
	}
	return decode(path, data, v)
}

func (r RunFolder) put(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	path := filepath.Join(r.Path, name)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
