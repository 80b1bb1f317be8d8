package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// shim stands in for systemctl on the machines, which have no systemd: it knows the units of deploy/, and starts and
// ends their programs. A start has failed if the program ends before it listens.
const shim = `#!/bin/sh
set -u
verb=$1; shift
while case ${1-} in -*) ;; *) false ;; esac; do shift; done
[ "$verb" = daemon-reload ] && exit 0
name=${1%.service}.service
unit=$HOSTS_UNITS/$name pid=/run/$name.pid
# A process that has ended stays until its parent has waited for it, which nothing does here.
alive() { [ -f "$pid" ] && [ -d "/proc/$(cat "$pid")" ] && ! grep -q '^State:.*Z' "/proc/$(cat "$pid")/status"; }
case $verb in
is-active) alive ;;
cat) exec cat "$unit" ;;
show) sed -n 's/^User=//p' "$unit" ;; # --property=User --value
enable) exit 0 ;;
start | stop | restart)
	if alive; then
		[ "$verb" = start ] && exit 0
		kill "$(cat "$pid")"
		while alive; do sleep 0.05; done
	fi
	[ "$verb" = stop ] && exit 0
	# shellcheck disable=SC2046 # the words of a command line
	setsid $(sed -n 's|^ExecStart=/usr/bin/||p' "$unit") >>"/run/$name.log" 2>&1 </dev/null &
	echo $! >"$pid"
	case $name in
	berth-server*) port=2710 ;;
	berth-agent*) port=1B59 ;;
	*) exit 0 ;;
	esac
	until cat /proc/net/tcp /proc/net/tcp6 | grep -q ":$port 0*:0000 0A "; do
		alive || { echo "Job for $name failed" >&2; exit 1; }
		sleep 0.05
	done
	;;
*) echo "systemctl $verb is not known here" >&2; exit 1 ;;
esac
`

// journal stands in for journalctl -u UNIT: it prints the last line of the unit's log.
const journal = `#!/bin/sh
while [ "$1" != -u ]; do shift; done
tail -n 1 "/run/${2%.service}.service.log"
`

// machine is a host of the cluster: processes with a network, a hostname, process ids and folders of their own.
type machine struct {
	name, address string
	dir           string // of its folders, outside
	holder        *exec.Cmd
	pid           string // of the holder, outside
	lab           *lab
}

// private are the folders that each machine has for itself, and where they are outside.
func private() map[string]string {
	return map[string]string{"/etc/berth": "etc", "/var/lib/berth": "lib"}
}

// hold starts the process that keeps the namespaces of a machine, and returns its id. With --fork that is a child of
// unshare.
func hold(flags ...string) (*exec.Cmd, string, error) {
	cmd := exec.Command("unshare", append(flags, "sh", "-c", "echo ready; exec sleep infinity")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, "", errors.Join(fmt.Errorf("unshare has not started (%q): is this root?", line), cmd.Wait())
	}
	if !slices.Contains(flags, "--fork") {
		return cmd, strconv.Itoa(cmd.Process.Pid), nil
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	return cmd, strings.TrimSpace(string(children)), err
}

// boot starts a machine and connects it to the switch.
func (l *lab) boot(name, address string) (*machine, error) {
	m := &machine{name: name, address: address, dir: filepath.Join(l.dir, name), lab: l}
	for _, at := range private() {
		if err := os.MkdirAll(filepath.Join(m.dir, at), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(m.dir, "home"), 0o700); err != nil {
		return nil, err
	}
	var err error
	if m.holder, m.pid, err = hold("--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"); err != nil {
		return nil, err
	}
	l.machines = append(l.machines, m)
	script := "set -e\nhostname " + name + "\nmount -t tmpfs tmpfs /run\nmkdir -p /run/systemd/system\n"
	for _, dir := range []string{"etc", "home", "var/lib"} { // with accounts and folders of the machine's own
		script += fmt.Sprintf("mkdir -p /run/own/%[1]s /run/own/%[1]s.work\nmount -t overlay overlay -o lowerdir=/%[1]s,upperdir=/run/own/%[1]s,workdir=/run/own/%[1]s.work /%[1]s\n", dir)
	}
	for inside, at := range private() {
		script += fmt.Sprintf("mkdir -p %[2]s\nmount --bind %[1]s %[2]s\n", filepath.Join(m.dir, at), inside)
	}
	script += "ip link set lo up\nip link set eth0 up\n"
	if strings.Contains(address, ":") {
		script += fmt.Sprintf("ip addr add %s/64 dev eth0 nodad\nip -6 route add default via %s\n", address, gateway(address))
	} else {
		script += fmt.Sprintf("ip addr add %s/24 dev eth0\nip route add default via %s\n", address, gateway(address))
	}
	cable := "to-" + name
	return m, errors.Join(
		l.network("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", m.pid),
		l.network("ip", "link", "set", cable, "master", "switch", "up"),
		m.shell(context.Background(), "", script, nil),
	)
}

// command returns a command that runs on the machine.
func (m *machine) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"-t", m.pid, "-n", "-m", "-u", "-p", "--wdns=/", "--", name}, args...)...)
	cmd.Env = []string{
		"PATH=" + filepath.Join(m.lab.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(m.dir, "home"), "HOSTS_UNITS=" + m.lab.units,
		"LANG=C.UTF-8",
	}
	return cmd
}

// shell runs a script on the machine with text on standard input, and appends its standard output.
func (m *machine) shell(ctx context.Context, in, script string, out *bytes.Buffer) error {
	cmd := m.command(ctx, "sh", "-c", script)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(in), &errs
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s# %s: %w: %s", m.name, script, err, strings.TrimSpace(errs.String()))
	}
	return nil
}

// cut takes the machine off the network, or puts it back.
func (m *machine) cut(off bool) error {
	state := map[bool]string{true: "down", false: "up"}[off]
	return m.lab.network("ip", "link", "set", "to-"+m.name, state)
}

// off ends all processes of the machine at once, as a power failure does.
func (m *machine) off() error {
	err := m.holder.Process.Kill()
	_ = m.holder.Wait() // it was killed
	return err
}
