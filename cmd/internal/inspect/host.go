package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/node/runner/cgroup"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// systemdRuns exists where systemd is the system manager (sd_booted(3)).
const systemdRuns = "/run/systemd/system"

// commandLimit bounds a command.
const commandLimit = 5 * time.Second

// synchronised reports whether the kernel's clock is kept right by another (adjtimex(2)).
func synchronised() (bool, error) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return false, err
	}
	return t.Status&unix.STA_UNSYNC == 0, nil
}

// unitKnown reports whether this machine has a unit's file.
func unitKnown(name string) bool {
	for _, dir := range []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/system"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// units returns the states of the role's units.
func (m *member) units(ctx context.Context) ([]doctor.UnitState, error) {
	names := []string{doctor.Unit(m.role)}
	if m.role == roleNode {
		names = append(names, cgroup.JobsUnit)
	}
	if _, err := os.Stat(systemdRuns); err != nil {
		return nil, errors.New("systemd does not run here")
	}
	var out []doctor.UnitState
	for i, name := range names {
		shown, err := show(ctx, name, "LoadState", "ActiveState", "UnitFileState", "WantedBy")
		if err != nil {
			return nil, err
		}
		u := doctor.UnitState{Name: name, Load: shown["LoadState"], Active: shown["ActiveState"], Enabled: shown["UnitFileState"], Outside: i == 0 && m.outside()}
		if last := LastEnd(m.data); i == 0 && m.role == rolePeer && last != nil {
			u.Over = last.Code == cmdline.ExitRemoved
		}
		if i > 0 && slices.Contains(strings.Fields(shown["WantedBy"]), names[0]) {
			u.Starter = names[0]
		}
		out = append(out, u)
	}
	return out, nil
}

// show returns properties of a unit.
func show(ctx context.Context, unit string, properties ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, "systemctl", "show", "-p", strings.Join(properties, ","), "--", unit).Output() //nolint:gosec // names of ours
	if err != nil {
		return nil, fmt.Errorf("systemctl show %s: %w", unit, err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			out[name] = value
		}
	}
	return out, nil
}

// groups returns what this node has of control groups.
func (m *member) groups(ctx context.Context) *doctor.Groups {
	l, err := cgroup.Look("/")
	out := &doctor.Groups{Kind: l.Kind}
	if err != nil {
		out.Kind = cgroup.None
		return out
	}
	if unitKnown(cgroup.JobsUnit) && !m.outside() {
		out.Unit = cgroup.JobsUnit
		shown, err := show(ctx, cgroup.JobsUnit, "ControlGroup", "ActiveState", "Delegate")
		if err != nil || shown["ControlGroup"] == "" {
			return out
		}
		out.Path, out.Holding, out.Delegated = filepath.Join("/sys/fs/cgroup", shown["ControlGroup"]), shown["ActiveState"] == "active", shown["Delegate"] == "yes"
		out.Controllers = words(filepath.Join(out.Path, "cgroup.controllers"))
		return out
	}
	if dir := m.ownGroup(); dir != "" {
		out.Inside, out.Controllers = dir, words(filepath.Join(dir, "cgroup.subtree_control"))
	}
	return out
}

// ownGroup returns the group below which the running agent makes those of jobs; empty: it runs without.
func (m *member) ownGroup() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", m.daemon.pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if group, is := strings.CutPrefix(strings.TrimSpace(line), "0::"); is && filepath.Base(group) == "supervisors" {
			return filepath.Join("/sys/fs/cgroup", filepath.Dir(group))
		}
	}
	return ""
}

func words(path string) []string {
	text, _ := os.ReadFile(path) //nolint:gosec // the kernel's; without it there are none
	return strings.Fields(string(text))
}

// limits returns the limits of the role's process, and those of the kernel.
func (m *member) limits() []doctor.Limit {
	of := "berthd " + map[string]string{rolePeer: "server", roleNode: "agent"}[m.role]
	own := func(name, line string, least uint64, remedy string) doctor.Limit {
		l := doctor.Limit{Name: name, Of: of, Least: least, Remedy: remedy}
		if !m.daemon.runs() {
			l.Err = errors.New("the program does not run")
			return l
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", m.daemon.pid))
		if l.Err = err; err == nil {
			l.Has, l.Err = parseLimit(string(text), line)
		}
		return l
	}
	out := []doctor.Limit{own("nofile", "Max open files", 65536, "set LimitNOFILE=65536 for the unit, as that of deploy/ has it, or raise nofile in limits.conf")}
	if m.role != roleNode {
		return out
	}
	out = append(out, own("memlock", "Max locked memory", doctor.Unlimited, "set LimitMEMLOCK=infinity for the unit, as that of deploy/ has it: RDMA and pinned memory of jobs need it"))
	for _, v := range []struct {
		name, path string
		least      uint64
	}{
		{"kernel.pid_max", "kernel/pid_max", 131072},
		{"kernel.threads-max", "kernel/threads-max", 131072},
		{"fs.inotify.max_user_instances", "fs/inotify/max_user_instances", 128},
		{"fs.inotify.max_user_watches", "fs/inotify/max_user_watches", 65536},
	} {
		l := doctor.Limit{Name: v.name, Of: "kernel", Least: v.least, Remedy: fmt.Sprintf("sysctl -w %s=%d, and a line of this in /etc/sysctl.d", v.name, v.least)}
		text, err := os.ReadFile("/proc/sys/" + v.path)
		if l.Err = err; err == nil {
			l.Has, l.Err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		}
		out = append(out, l)
	}
	return out
}

// parseLimit reads the soft limit of a line of a process's limits (proc_pid_limits(5)).
func parseLimit(text, line string) (uint64, error) {
	for l := range strings.Lines(text) {
		rest, is := strings.CutPrefix(l, line)
		if fields := strings.Fields(rest); is && len(fields) > 0 {
			if fields[0] == "unlimited" {
				return doctor.Unlimited, nil
			}
			return strconv.ParseUint(fields[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("the kernel does not show %q", line)
}

// accounts returns the accounts of a node.
func (m *member) accounts(_ context.Context, seen *answers) *doctor.Agent {
	u := &m.settings.Agent.Ranks.Users
	out := &doctor.Agent{AsUsers: u.On, Shared: u.Shared, Err: seen.usersErr}
	if m.daemon.runs() {
		var st unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d", m.daemon.pid), &st); err == nil {
			out.Account, out.Root = ownerOf(st.Uid), st.Uid == 0
		}
	}
	if !u.On {
		return out
	}
	if os.Geteuid() == 0 {
		out.Unable = isolate.Possible()
	}
	rules := &isolate.Rules{On: true, Map: u.Accounts, Only: u.Mapped, Root: u.Root, Peers: PeersHere(m.settings.Config)}
	for _, name := range seen.users {
		_, err := rules.Account(name)
		out.Users = append(out.Users, doctor.User{Name: name, Err: err})
	}
	return out
}

// account looks for the account of peers, where the unit needs it.
func (m *member) account(context.Context) []doctor.Finding {
	if !unitKnown(doctor.Unit(rolePeer)) || m.outside() {
		return nil
	}
	_, err := user.Lookup(accountOfPeers)
	return []doctor.Finding{doctor.Account(accountOfPeers, err)}
}
