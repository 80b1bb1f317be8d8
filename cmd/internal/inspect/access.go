package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
)

// writes judges a folder that the program writes to.
func (p *place) writes(setting, dir string) *doctor.Denied {
	d := &doctor.Denied{Setting: setting, Path: dir}
	at := p.real(dir)
	if hidden := p.hides(at); p.unit != "" && (hidden != "" || p.strict && !withinAny(at, p.writable)) {
		d.Why = "the unit " + p.unit + " may not write there"
		d.Remedy = fmt.Sprintf("systemctl edit %s, with the lines [Service] and ReadWritePaths=%s, then systemctl restart %s", p.unit, dir, p.unit)
		if hidden != "" {
			d.Remedy = fmt.Sprintf("name a folder outside of %s, which the unit does not see, such as /var/backups/berth", hidden)
		}
		return d
	}
	err := p.may(at, unix.W_OK|unix.X_OK)
	if errors.Is(err, fs.ErrNotExist) && p.may(filepath.Dir(at), unix.W_OK|unix.X_OK) == nil {
		return nil // the program makes the folder
	}
	if info, wrong := os.Stat(at); err == nil && wrong == nil && !info.IsDir() {
		d.Why, d.Remedy = "this is no folder", "name a folder"
		return d
	}
	if err == nil {
		return nil
	}
	d.Why, d.Remedy = fmt.Sprintf("%s cannot write there: %v", p.described(), err), "let the account of the program own the folder"
	if p.foreign() {
		d.Remedy = "check as root, which asks as the account of the program"
	} else if p.name != "" {
		d.Remedy = fmt.Sprintf("install -d -o %[1]s -g %[1]s -m 700 %[2]s", p.name, dir)
	}
	return d
}

// reads judges a file that the program reads at its start.
func (p *place) reads(setting, path string, how uint32) *doctor.Denied {
	at := p.real(path)
	d := &doctor.Denied{Setting: setting, Path: path, Fatal: true}
	if hidden := p.hides(at); hidden != "" {
		d.Why, d.Remedy = "the unit sees no file below "+hidden, "move the file to another folder, such as /etc/berth"
		return d
	}
	err := p.may(at, how)
	if err == nil {
		return nil
	}
	d.Why, d.Remedy = fmt.Sprintf("%s cannot use the file: %v", p.described(), err), "correct the path, or make the file"
	switch denied := !errors.Is(err, fs.ErrNotExist); {
	case denied && p.foreign():
		d.Fatal, d.Remedy = false, "check as root, which asks as the account of the program"
	case denied && p.name != "" && p.may(at, unix.F_OK) != nil:
		d.Remedy = fmt.Sprintf("let the account %s enter the folders that lead to the file, or move it, such as to /etc/berth", p.name)
	case denied && p.name != "" && how&unix.X_OK != 0:
		d.Remedy = "chmod a+rx " + path
	case denied && p.name != "":
		d.Remedy = fmt.Sprintf("chown root:%[1]s %[2]s && chmod 640 %[2]s", p.name, path)
	}
	return d
}

// keeps judges a file with secrets that the program reads at its start.
func (p *place) keeps(setting, path string) *doctor.Denied {
	d := p.reads(setting, path, unix.R_OK)
	at := p.real(path)
	info, err := os.Stat(at)
	if err != nil {
		return d
	}
	if exposed, is := errors.AsType[*config.Exposed](p.reader().Private(path, info)); is {
		return &doctor.Denied{Setting: setting, Path: path, Fatal: true, Why: "the file " + exposed.Why, Remedy: exposed.Remedy}
	}
	if owner, known := owns(info); d != nil && known && p.name != "" && p.hides(at) == "" && p.may(at, unix.F_OK) == nil {
		d.Remedy = p.reader().Remedy(path, owner)
	}
	return d
}

// owns returns the user id of the owner of a file.
func owns(info fs.FileInfo) (uid uint32, known bool) {
	st, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0, false
	}
	return st.Uid, true
}

// Access returns what of the files and folders that the settings of a role name its program cannot use: with the account and the
// sandbox of its unit, if there is one.
func Access(ctx context.Context, role string, c *config.Loaded) []doctor.Denied {
	return placeOf(ctx, role).access(c)
}

// access returns what of the files and folders that the settings of the role name its program cannot use.
func (p *place) access(c *config.Loaded) (out []doctor.Denied) {
	note := func(d *doctor.Denied) {
		if d != nil {
			out = append(out, *d)
		}
	}
	if p.unknown != nil {
		note(&doctor.Denied{
			Setting: p.unit, Path: "User=" + p.name, Why: p.unknown.Error(),
			Remedy: "make the account and the groups of the unit; until then files are judged as root sees them",
		})
	}
	type named struct{ setting, path string }
	if p.role == roleNode {
		for _, v := range []named{{"agent.prolog", c.Agent.Ranks.Prolog}, {"agent.epilog", c.Agent.Ranks.Epilog}} {
			if filepath.IsAbs(v.path) {
				note(p.reads(v.setting, v.path, unix.X_OK))
			}
		}
		if filepath.IsAbs(c.Agent.Keep.Dir) {
			note(p.writes("agent.log_dir", c.Agent.Keep.Dir))
		}
		note(p.settings(c))
		return out
	}
	s := &c.Server
	for _, v := range []named{
		{"server.tls_cert", s.Certificate},
		{"server.tls_key", s.Key},
		{"auth.command_rules", s.Auth.CommandRules},
		{"workloads.defaults_file", s.Advice.Defaults},
		{"oidc.ca", s.OIDC.CA},
		{"oidc.groups_file", s.OIDC.Groups},
	} {
		if v.path != "" {
			note(p.reads(v.setting, v.path, unix.R_OK))
		}
	}
	for _, v := range []named{{"auth.keys_file", s.Auth.Keys}, {"oidc.client_secret_file", s.OIDC.Secret}} {
		if v.path != "" {
			note(p.keeps(v.setting, v.path))
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

// settings judges the file of settings itself, if it is that of the program: one that is only checked by a user may be open.
func (p *place) settings(c *config.Loaded) *doctor.Denied {
	data := "server.data_dir"
	if p.role == roleNode {
		data = "agent.data_dir"
	}
	if c.File == "" || c.Origin(data).Layer == config.FromDefault || p.unit == "" {
		return nil
	}
	full, err := filepath.Abs(c.File)
	if err != nil || p.file != "" && full != filepath.Clean(p.file) {
		return nil
	}
	if where := c.SecretAt(); where != "" {
		return p.keeps(where, full)
	}
	return p.reads("the file of settings", full, unix.R_OK)
}
