package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// place is the account and the sandbox of a unit.
type place struct {
	role     string
	unit     string           // empty: the program runs as this process does
	file     string           // of settings, which the unit's command names; empty: it names none
	account  *isolate.Account // nil: that of this process
	name     string           // of the account
	unknown  error            // the account cannot be looked up
	lent     uint32           // the group to which root may lend files with secrets; 0: none
	strict   bool             // only writable folders may be written to (ProtectSystem=strict)
	writable []string
	noHomes  bool // ProtectHome=yes
	noTmp    bool // PrivateTmp=yes
}

// homes are the folders that ProtectHome=yes takes away.
var homes = []string{"/home", "/root", "/run/user"} //nolint:gochecknoglobals // a constant

// temporary are the folders that a unit with PrivateTmp=yes has of its own.
var temporary = []string{"/tmp", "/var/tmp"} //nolint:gochecknoglobals // a constant

// hides returns the folder that holds a path and that the unit does not see; empty: the unit sees the path.
func (p *place) hides(path string) string {
	for _, v := range []struct {
		hidden bool
		dirs   []string
	}{{p.noHomes, homes}, {p.noTmp, temporary}} {
		for _, dir := range v.dirs {
			if v.hidden && within(path, dir) {
				return dir
			}
		}
	}
	return ""
}

// placeOf returns where the program of a role runs: by its unit, if systemd has one.
func placeOf(ctx context.Context, role string) *place {
	p := &place{role: role}
	unit := doctor.Unit(role)
	if os.Geteuid() != 0 && RoleOfUnit() == role { // the account and the sandbox are in force
		p.unit = unit
		if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil {
			p.name = u.Username
		}
		return p
	}
	if !unitHere(unit) || os.Geteuid() != 0 {
		return p
	}
	shown, err := show(ctx, unit, "User", "Group", "SupplementaryGroups", "ProtectSystem", "ProtectHome", "PrivateTmp",
		"ReadWritePaths", "StateDirectory", "LogsDirectory", "CacheDirectory", "ExecStart")
	if err != nil {
		return p
	}
	p.unit = unit
	p.read(shown)
	return p
}

// unitHere reports whether systemd runs here and has a unit.
func unitHere(name string) bool {
	_, err := os.Stat(systemdRuns)
	return err == nil && unitKnown(name)
}

// read takes the account and the sandbox from the properties of a unit.
func (p *place) read(shown map[string]string) {
	p.name, p.strict = shown["User"], shown["ProtectSystem"] == "strict"
	p.noHomes = shown["ProtectHome"] == "yes" || shown["ProtectHome"] == "tmpfs"
	p.noTmp = shown["PrivateTmp"] == "yes" || shown["PrivateTmp"] == "disconnected"
	for _, dir := range strings.Fields(shown["ReadWritePaths"]) {
		p.writable = append(p.writable, strings.TrimLeft(dir, "-+"))
	}
	below := map[string]string{"StateDirectory": "/var/lib", "LogsDirectory": "/var/log", "CacheDirectory": "/var/cache"}
	for kind, below := range below { // order-free: a set
		for _, dir := range strings.Fields(shown[kind]) {
			p.writable = append(p.writable, filepath.Join(below, dir))
		}
	}
	argv := strings.Fields(strings.ReplaceAll(shown["ExecStart"], "--config=", "--config "))
	if at := slices.Index(argv, "--config"); at >= 0 && at+1 < len(argv) {
		p.file = argv[at+1]
	}
	if p.name != "" && p.name != "root" && p.name != "0" {
		p.account, p.unknown = accountOf(p.name, shown["Group"], strings.Fields(shown["SupplementaryGroups"]))
	}
	if p.account != nil && p.account.Name == config.AccountOfPeers {
		_, p.lent = config.LentTo(config.AccountOfPeers)
	}
}

// accountOf returns the account of a unit, by its name or number, with the groups that the unit gives it.
func accountOf(name, group string, more []string) (*isolate.Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		return nil, fmt.Errorf("this machine has no account %q", name)
	}
	// It is one of the system, under which jobs run only if users are mapped to it.
	a, err := (&isolate.Rules{On: true, Root: true, Map: map[string]string{u.Username: u.Username}}).Account(u.Username)
	if err != nil {
		return nil, err
	}
	if group != "" {
		gid, err := groupID(group)
		if err != nil {
			return nil, err
		}
		a.Groups = append(slices.DeleteFunc(a.Groups, func(g uint32) bool { return g == a.GID }), gid)
		a.GID = gid
	}
	for _, name := range more {
		gid, err := groupID(name)
		if err != nil {
			return nil, err
		}
		a.Groups = append(a.Groups, gid)
	}
	return a, nil
}

// groupID returns the number of a group, which is named or numbered.
func groupID(name string) (uint32, error) {
	number := name
	if g, err := user.LookupGroup(name); err == nil {
		number = g.Gid
	}
	gid, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("this machine has no group %q", name)
	}
	return uint32(gid), nil
}

// reader returns the account as a reader of secrets.
func (p *place) reader() config.Reader {
	if p.account != nil {
		return config.Reader{UID: p.account.UID, GID: p.lent}
	}
	if uid, gid := config.LentTo(config.AccountOfPeers); uid != 0 && p.role == rolePeer && p.foreign() {
		return config.Reader{UID: uid, GID: gid}
	}
	return config.OfMember()
}

// Reader returns the account of a role's program as a reader of secrets: that of its unit, if there is one.
func Reader(ctx context.Context, role string) config.Reader { return placeOf(ctx, role).reader() }

// foreign reports whether the role's program runs by a unit with other rights than those of this process, which cannot ask with them.
func (p *place) foreign() bool {
	return p.unit == "" && os.Geteuid() != 0 && RoleOfUnit() != p.role && unitHere(doctor.Unit(p.role))
}

// may returns why the account may not access a path. The call is made with the rights of the account.
func (p *place) may(path string, how uint32) error {
	if p.account == nil {
		return unix.Faccessat(unix.AT_FDCWD, path, how, unix.AT_EACCESS)
	}
	done := make(chan error, 1)
	p.account.Go(func() {
		err := unix.Faccessat2(unix.AT_FDCWD, path, how, unix.AT_EACCESS)
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			err = nil // a kernel before 5.8, or a filter of system calls that does not know this one
		}
		done <- err
	}, func(error) { done <- nil })
	return <-done
}

// described names the account in a message.
func (p *place) described() string {
	if p.unit == "" || p.name == "" {
		return "this account"
	}
	return "the account " + p.name
}

// real returns a path as the unit sees it: from the root folder on, and without links.
func (p *place) real(path string) string {
	if p.unit == "" {
		return path
	}
	path = filepath.Join("/", path)
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// within reports whether a path is a folder or below it.
func within(path, dir string) bool {
	rest, err := filepath.Rel(dir, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}

// withinAny reports whether a path is one of the folders or below it, also if links lead to the folders.
func withinAny(path string, dirs []string) bool {
	for _, dir := range dirs {
		if to, err := filepath.EvalSymlinks(dir); err == nil && within(path, to) || within(path, filepath.Clean(dir)) {
			return true
		}
	}
	return false
}

// RoleOfUnit returns the role to whose unit this process belongs, as the check before a start does; empty: to none.
func RoleOfUnit() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	return roleIn(string(text))
}

// roleIn returns the role whose unit has a control group (cgroups(7), /proc/pid/cgroup).
func roleIn(groups string) string {
	for line := range strings.Lines(groups) {
		for name := range strings.SplitSeq(strings.TrimSpace(line), "/") {
			for _, role := range []string{rolePeer, roleNode} {
				if name == doctor.Unit(role) {
					return role
				}
			}
		}
	}
	return ""
}
