package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gateway returns the address of the default route of a machine. Nothing has the address, unless a test boots a router.
func gateway(address string) string {
	if cut := strings.LastIndex(address, "::"); cut >= 0 {
		return address[:cut] + "::fe"
	}
	return address[:strings.LastIndex(address, ".")] + ".254"
}

// lab is a network of machines. The quick start of the README uses their names and addresses.
type lab struct {
	dir      string // of the machines' folders, and of the programs
	units    string // the folder with the units of systemd
	holder   *exec.Cmd
	pid      string // of the switch
	machines []*machine
}

// plan is the machines and their addresses.
func plan() map[string]string {
	return map[string]string{"p1": "10.0.0.1", "p2": "10.0.0.2", "p3": "10.0.0.3", "gpu1": "10.0.0.11", "laptop": "10.0.0.21"}
}

// missing returns why this host cannot have such machines; nil: it can.
func missing() error {
	if os.Geteuid() != 0 {
		return errors.New("only root can make networks")
	}
	for _, tool := range []string{"unshare", "nsenter", "ip", "setsid"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing: apt-get install util-linux iproute2", tool)
		}
	}
	if out, err := exec.Command("unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc", "ip", "link", "add", "x", "type", "veth").CombinedOutput(); err != nil {
		return fmt.Errorf("this host does not let root make networks: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// newLab makes the switch and the programs of the machines.
func newLab(dir, berth, units string) (*lab, error) {
	l := &lab{dir: dir, units: units}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	err := errors.Join(os.Symlink(berth, filepath.Join(bin, "berth")), os.Symlink(berth+"d", filepath.Join(bin, "berthd")),
		os.WriteFile(filepath.Join(bin, "systemctl"), []byte(shim), 0o755),
		os.WriteFile(filepath.Join(bin, "journalctl"), []byte(journal), 0o755))
	if err != nil {
		return nil, err
	}
	if l.holder, l.pid, err = hold("--net"); err != nil {
		return nil, err
	}
	return l, l.network("sh", "-c", "ip link add switch type bridge && ip link set switch up && ip link set lo up")
}

// network runs a command in the network of the switch.
func (l *lab) network(args ...string) error {
	out, err := exec.CommandContext(context.Background(), "nsenter", append([]string{"-t", l.pid, "-n", "--"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// close ends all machines.
func (l *lab) close() error {
	var err error
	for _, m := range l.machines {
		err = errors.Join(err, m.off())
	}
	err = errors.Join(err, l.holder.Process.Kill())
	_ = l.holder.Wait() // it was killed
	return err
}
