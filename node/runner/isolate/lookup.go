package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// lookUpLimit bounds each query to an account database on the network.
const lookUpLimit = time.Minute

// databases are the account databases of a host. A program without the C library reads the host's own files;
// other configured sources, such as a directory on the network, are available through the system's tools.
type databases struct {
	libc   bool   // os/user queries all of them
	conf   string // which there are, normally /etc/nsswitch.conf
	getent string // the tool that finds an account
	id     string // the tool that lists its groups
}

func hostDatabases() databases {
	return databases{libc: libc, conf: "/etc/nsswitch.conf", getent: "getent", id: "id"}
}

// find returns an account and the numbers of its groups.
func (d databases) find(name string) (*user.User, []string, error) {
	u, err := user.Lookup(name)
	if !d.libc && askable(name) && (err != nil || d.distant()) {
		if _, missing := exec.LookPath(d.getent); missing == nil || d.distant() {
			return d.ask(name)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	groups, err := u.GroupIds()
	return u, groups, err
}

// distant reports whether a host has accounts, or groups of accounts, beyond its files.
func (d databases) distant() bool {
	data, err := os.ReadFile(d.conf)
	if err != nil {
		return false // files are the default
	}
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		database, sources, _ := strings.Cut(line, ":")
		if database = strings.TrimSpace(database); database != "passwd" && database != "group" && database != "initgroups" {
			continue
		}
		if slices.ContainsFunc(strings.Fields(sources), func(s string) bool {
			return s != "files" && s != "compat" && s != "systemd" && s[0] != '['
		}) {
			return true
		}
	}
	return false
}

// ask finds an account by the system's tools.
func (d databases) ask(name string) (*user.User, []string, error) {
	line, err := output(d.getent, "passwd", "--", name)
	if exit, ended := errors.AsType[*exec.ExitError](err); ended && exit.ExitCode() == 2 { // no such account
		return nil, nil, user.UnknownUserError(name)
	}
	if err != nil {
		return nil, nil, err
	}
	f := strings.Split(strings.TrimRight(line, "\n"), ":")
	if len(f) != 7 || f[0] == "" || f[0][0] == '-' {
		return nil, nil, fmt.Errorf("%s answers what is no account: %.100q", d.getent, line)
	}
	u := &user.User{Username: f[0], Uid: f[2], Gid: f[3], HomeDir: f[5]}
	groups, err := output(d.id, "-G", "--", u.Username)
	return u, strings.Fields(groups), err
}

// askable reports whether the tools take a name for one: they read what looks like a number as a number.
func askable(name string) bool {
	return name != "" && !strings.ContainsAny(name, ":\n\x00/") && !strings.ContainsAny(name[:1], "0123456789+- \t\v\f\r")
}

// output runs a tool that ends with this process, and returns its output.
func output(tool string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpLimit)
	defer cancel()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, tool, args...) //nolint:gosec // getent or id, with a name that is none of their options
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // it dies with this thread
	defer runtime.UnlockOSThread()
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %.200s", tool, strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return string(out), err
}
