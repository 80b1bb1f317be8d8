package isolate

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limit sets a job's resource limits. A limit that the host does not allow to be raised stays as it is.
func (p *Plan) limit() error {
	type limit struct {
		name int
		want uint64
	}
	limits := []limit{{unix.RLIMIT_CORE, p.MaxCore}, {unix.RLIMIT_MEMLOCK, math.MaxUint64}} // CUDA locks the memory that it copies from
	if p.MaxOpen > 0 {
		limits = append(limits, limit{unix.RLIMIT_NOFILE, p.MaxOpen})
	}
	for _, l := range limits {
		if err := bound(l.name, l.want); err != nil {
			return fmt.Errorf("limit %d: %w", l.name, err)
		}
	}
	return nil
}

// bound sets one limit, or the highest that this process may set.
func bound(name int, want uint64) error {
	err := unix.Setrlimit(name, &unix.Rlimit{Cur: want, Max: want})
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	var has unix.Rlimit
	if err := unix.Getrlimit(name, &has); err != nil {
		return err
	}
	want = min(want, has.Max)
	return unix.Setrlimit(name, &unix.Rlimit{Cur: want, Max: want})
}

// drop gives up every right beyond the account's own, for good. It affects this thread alone, which becomes
// the job.
func (p *Plan) drop() error {
	_, _ = unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) // a new one; where keyrings are not allowed the job has none either
	last, err := lastCapability()
	if err != nil {
		return err
	}
	for c := range last + 1 {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	if err := p.become(); err != nil {
		return err
	}
	version, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := errors.Join(
		unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0),
		unix.Capset(&version, &none[0]),
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
	); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	return nil
}

// become changes this thread's user for good.
func (p *Plan) become() error {
	groups := make([]int, 0, len(p.Account.Groups))
	for _, g := range p.Account.Groups {
		groups = append(groups, int(g))
	}
	uid, gid := int(p.Account.UID), int(p.Account.GID)
	if err := unix.Setgroups(groups); err != nil {
		return fmt.Errorf("setting groups: %w", err)
	}
	if err := unix.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("setting the group: %w", err)
	}
	if err := unix.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("setting the user: %w", err)
	}
	return nil
}

// lastCapability returns the highest capability of this kernel.
func lastCapability() (uintptr, error) {
	data, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 6)
	return uintptr(n), err
}
