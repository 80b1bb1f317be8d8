package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
)

// DefaultRunDir is the default parent of run folders: in memory on every Linux, and gone with the kernel.
const DefaultRunDir = "/dev/shm"

// RunFolder is a node's run folder, see the package's comment: one for each data folder, which does not
// outlive the kernel.
type RunFolder struct {
	Path string
	Boot string // the kernel's boot id
}

const (
	statusSuffix      = ".status"
	environmentSuffix = ".environment"

	betweenEnvironments = "\x00\x00" // no variable is empty
)

// Lease is the content of the file by which an agent extends its ranks. It names the ranks: an agent extends
// only known ones, so that a rank which the agent has forgotten, and which the cluster therefore gives up,
// reaches its fence.
type Lease struct {
	Boot  string
	Start time.Duration // CLOCK_BOOTTIME at the start of the node's lease; 0: no lease
	Away  time.Duration `json:",omitempty"` // an instant at which no peer led; nothing may start because of it
	Ranks []string      `json:",omitempty"` // nonces of the ranks that the agent knows
}

// covers reports whether the lease extends the rank with that nonce.
func (l *Lease) covers(nonce string) bool { return slices.Contains(l.Ranks, nonce) }

// Events returns the path of the pipe on which supervisors wake the agent.
func (r RunFolder) Events() string { return filepath.Join(r.Path, "events") }

// LeaseOf returns the start of the node's lease for the rank with that nonce, as CLOCK_BOOTTIME; 0 without a
// lease of this boot that names the rank.
func (r RunFolder) LeaseOf(nonce string) time.Duration {
	if l := r.Lease(); l.covers(nonce) {
		return l.Start
	}
	return 0
}

// AliveOf returns the instant from which the rank with that nonce may run on: the start of the lease, or a
// later instant at which no peer led. The latter must not start a rank.
func (r RunFolder) AliveOf(nonce string) time.Duration {
	if l := r.Lease(); l.covers(nonce) {
		return max(l.Start, l.Away)
	}
	return 0
}

// Lease returns the lease as last written; a missing or damaged file is no lease.
func (r RunFolder) Lease() Lease {
	var l Lease
	if r.get("lease", &l) != nil || l.Boot != r.Boot {
		return Lease{Boot: r.Boot}
	}
	return l
}

// SetLease writes the lease for the ranks that it names. Its instants never move back.
func (r RunFolder) SetLease(l Lease) error {
	had := r.Lease()
	l.Boot, l.Start, l.Away = r.Boot, max(l.Start, had.Start), max(l.Away, had.Away)
	return r.put("lease", l)
}

// Orders reads the orders for the rank whose folder has that name.
func (r RunFolder) Orders(name string) (Orders, error) {
	var o Orders
	return o, r.get(name+".orders", &o)
}

// SetOrders replaces the orders.
func (r RunFolder) SetOrders(name string, o Orders) error { return r.put(name+".orders", o) }

// Status reads the status of the rank's supervisor.
func (r RunFolder) Status(name string) (Status, error) {
	var s Status
	if err := r.get(name+statusSuffix, &s); err != nil {
		return s, err
	}
	if s.Boot != r.Boot {
		return Status{}, fmt.Errorf("the status of %s is of another boot: %w", name, os.ErrNotExist)
	}
	return s, nil
}

// SetStatus replaces the status.
func (r RunFolder) SetStatus(name string, s Status) error {
	s.Boot = r.Boot
	return r.put(name+statusSuffix, s)
}

// Environment reads the environment of the rank's job.
func (r RunFolder) Environment(name string, j *Job) (e Environment, err error) {
	if !j.Environ {
		return e, nil
	}
	text, err := os.ReadFile(filepath.Join(r.Path, name+environmentSuffix)) //nolint:gosec // of the node's own folder
	if err != nil {
		return e, fmt.Errorf("the environment of the job, which is kept in memory, is not there any more: %w", err)
	}
	var found bool
	if e.Job, e.Submit, found = bytes.Cut(text, []byte(betweenEnvironments)); !found {
		return e, fmt.Errorf("%s is cut off", filepath.Join(r.Path, name+environmentSuffix))
	}
	return e, nil
}

// SetEnvironment stores the environment of a job whose rank is about to begin.
func (r RunFolder) SetEnvironment(name string, e *Environment) error {
	if e.Empty() {
		return nil
	}
	return smallfile.WriteBytes(filepath.Join(r.Path, name+environmentSuffix), slices.Concat(e.Job, []byte(betweenEnvironments), e.Submit))
}

// Forget removes a rank's orders, status and environment.
func (r RunFolder) Forget(name string) {
	for _, suffix := range []string{".orders", statusSuffix, environmentSuffix} {
		_ = os.Remove(filepath.Join(r.Path, name+suffix)) // what stays goes with the kernel
	}
}

func (r RunFolder) get(name string, v any) error {
	return smallfile.Read(filepath.Join(r.Path, name), v)
}

func (r RunFolder) put(name string, v any) error {
	return smallfile.Replace(filepath.Join(r.Path, name), v)
}

// Names returns the ranks that have a status, damaged or not.
func (r RunFolder) Names() (out []string) {
	paths, _ := filepath.Glob(filepath.Join(r.Path, "*"+statusSuffix)) // the pattern is fine
	for _, path := range paths {
		out = append(out, strings.TrimSuffix(filepath.Base(path), statusSuffix))
	}
	return out
}
