package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/node/runner/isolate"
)

// place is the account and the sandbox of a unit.
type place struct {
	unit     string           // empty: the program runs as this process does
	account  *isolate.Account // nil: that of this process
	name     string           // of the account
	strict   bool             // only writable folders may be written to (ProtectSystem=strict)
	writable []string
	noHomes  bool // ProtectHome=yes
}

// homes are the folders that ProtectHome=yes takes away.
var homes = []string{"/home", "/root", "/run/user"} //nolint:gochecknoglobals // a constant

// placeOf returns where the program of a role runs: by its unit, if systemd has one.
func placeOf(ctx context.Context, role string) *place {
	p := &place{}
	unit := doctor.Unit(role)
	if _, err := os.Stat(systemdRuns); err != nil || !unitKnown(unit) || os.Geteuid() != 0 {
		return p // of a unit that checks its own settings all of this is in force
	}
	shown, err := show(ctx, unit, "User", "ProtectSystem", "ProtectHome", "ReadWritePaths", "StateDirectory", "LogsDirectory", "CacheDirectory")
	if err != nil {
		return p
	}
	p.unit, p.name, p.strict, p.noHomes = unit, shown["User"], shown["ProtectSystem"] == "strict", shown["ProtectHome"] == "yes"
	for _, dir := range strings.Fields(shown["ReadWritePaths"]) {
		p.writable = append(p.writable, strings.TrimLeft(dir, "-+"))
	}
	for kind, below := range map[string]string{"StateDirectory": "/var/lib", "LogsDirectory": "/var/log", "CacheDirectory": "/var/cache"} { // order-free: a set
		for _, dir := range strings.Fields(shown[kind]) {
			p.writable = append(p.writable, filepath.Join(below, dir))
		}
	}
	if p.name != "" && p.name != "root" {
		p.account, _ = (&isolate.Rules{On: true}).Account(p.name) // another check names an account that is missing
	}
	return p
}

// reader returns the account as a reader of secrets.
func (p *place) reader() config.Reader {
	if p.account != nil {
		return config.Reader{UID: p.account.UID, GID: p.account.GID}
	}
	return config.Reader{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
}

// may returns why the account may not access a path. The call is made with the rights of the account.
func (p *place) may(path string, how uint32) error {
	done := make(chan error, 1)
	p.account.Go(func() {
		err := unix.Faccessat2(unix.AT_FDCWD, path, how, unix.AT_EACCESS)
		if errors.Is(err, unix.ENOSYS) {
			err = nil // a kernel before 5.8
		}
		done <- err
	}, func(error) { done <- nil })
	return <-done
}

// within reports whether a path is a folder or below it.
func within(path, dir string) bool {
	rest, err := filepath.Rel(dir, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}

func withinAny(path string, dirs []string) bool {
	for _, dir := range dirs {
		if within(path, filepath.Clean(dir)) {
			return true
		}
	}
	return false
}

// described names the account in a message.
func (p *place) described() string {
	if p.unit == "" || p.name == "" {
		return "this account"
	}
	return "the account " + p.name
}

// writes judges a folder that the program writes to.
func (p *place) writes(setting, dir string) *doctor.Denied {
	d := &doctor.Denied{Setting: setting, Path: dir}
	if p.unit != "" && (p.strict && !withinAny(dir, p.writable) || p.noHomes && withinAny(dir, homes)) {
		d.Why = "the unit " + p.unit + " may not write there"
		d.Remedy = fmt.Sprintf("systemctl edit %s, with the lines [Service] and ReadWritePaths=%s, then systemctl restart %s", p.unit, dir, p.unit)
		if p.noHomes && withinAny(dir, homes) {
			d.Remedy = "name a folder outside of /home, which the unit does not see, such as /var/backups/berth"
		}
		return d
	}
	err := p.may(dir, unix.W_OK|unix.X_OK)
	if errors.Is(err, fs.ErrNotExist) && p.may(filepath.Dir(dir), unix.W_OK|unix.X_OK) == nil {
		return nil // the program makes the folder
	}
	if err == nil {
		return nil
	}
	d.Why, d.Remedy = fmt.Sprintf("%s cannot write there: %v", p.described(), err), "let the account of the program own the folder"
	if p.name != "" {
		d.Remedy = fmt.Sprintf("install -d -o %[1]s -g %[1]s -m 700 %[2]s", p.name, dir)
	}
	return d
}

// reads judges a file that the program reads at its start.
func (p *place) reads(setting, path string, how uint32) *doctor.Denied {
	err := p.may(path, how)
	if err == nil && p.noHomes && withinAny(path, homes) {
		err = errors.New("the unit sees no file below /home")
	}
	if err == nil {
		return nil
	}
	d := &doctor.Denied{Setting: setting, Path: path, Fatal: true, Why: fmt.Sprintf("%s cannot use the file: %v", p.described(), err), Remedy: "correct the path, or make the file"}
	if p.name != "" && !errors.Is(err, fs.ErrNotExist) {
		d.Remedy = fmt.Sprintf("chown root:%[1]s %[2]s && chmod 640 %[2]s", p.name, path)
	}
	return d
}

// Access returns what of the files and folders that the settings of a role name its program cannot use: with the account and the
// sandbox of its unit, if there is one.
func Access(ctx context.Context, role string, c *config.Loaded) (out []doctor.Denied) {
	p := placeOf(ctx, role)
	note := func(d *doctor.Denied) {
		if d != nil {
			out = append(out, *d)
		}
	}
	type named struct{ setting, path string }
	if role == roleNode {
		for _, v := range []named{{"agent.prolog", c.Agent.Ranks.Prolog}, {"agent.epilog", c.Agent.Ranks.Epilog}} {
			if filepath.IsAbs(v.path) {
				note(p.reads(v.setting, v.path, unix.X_OK))
			}
		}
		if filepath.IsAbs(c.Agent.Keep.Dir) {
			note(p.writes("agent.log_dir", c.Agent.Keep.Dir))
		}
		return out
	}
	s := &c.Server
	for _, v := range []named{
		{"server.tls_cert", s.Certificate},
		{"server.tls_key", s.Key},
		{"auth.keys_file", s.Auth.Keys},
		{"auth.command_rules", s.Auth.CommandRules},
		{"oidc.client_secret_file", s.OIDC.Secret},
		{"oidc.ca", s.OIDC.CA},
		{"oidc.groups_file", s.OIDC.Groups},
	} {
		if v.path != "" {
			note(p.reads(v.setting, v.path, unix.R_OK))
		}
	}
	for _, v := range []named{{"backup.dir", s.Backup.Dir}, {"audit.dir", s.Audit.Dir}} {
		if filepath.IsAbs(v.path) {
			note(p.writes(v.setting, v.path))
		}
	}
	note(p.settings(c))
	return out
}

// inUnit reports whether this process is one of a unit's, as the check before its start is.
func inUnit(unit string) bool {
	text, err := os.ReadFile("/proc/self/cgroup")
	return err == nil && strings.Contains(string(text), "/"+unit)
}

// settings judges the file of settings itself.
func (p *place) settings(c *config.Loaded) *doctor.Denied {
	if c.File == "" || c.Origin("server.data_dir").Layer == config.FromDefault || p.unit == "" && !inUnit(doctor.Unit(rolePeer)) { // one that is only checked by a user may be open
		return nil
	}
	if d := p.reads("the file of settings", c.File, unix.R_OK); d != nil {
		return d
	}
	where := c.SecretAt()
	info, err := os.Stat(c.File)
	if where == "" || err != nil {
		return nil
	}
	if err := p.reader().Private(c.File, info); err != nil {
		text, remedy, _ := strings.Cut(err.Error(), "): ")
		if remedy != "" {
			text += ")"
		}
		return &doctor.Denied{Setting: where, Path: c.File, Fatal: true, Why: text, Remedy: remedy}
	}
	return nil
}
