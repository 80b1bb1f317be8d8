package setup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// systemdRuns exists where systemd is the system manager (sd_booted(3)).
const systemdRuns = "/run/systemd/system"

// unit is a unit of systemd.
type unit string

// ready reports whether this process can start the unit: as root, where systemd runs and knows it.
func (u unit) ready(ctx context.Context) bool {
	if _, err := os.Stat(systemdRuns); err != nil || os.Geteuid() != 0 {
		return false
	}
	return exec.CommandContext(ctx, "systemctl", "cat", "--", string(u)).Run() == nil //nolint:gosec // the name of a unit of ours
}

// start enables the unit and starts it, or restarts it with its new settings.
func (u unit) start(ctx context.Context) error {
	for _, args := range [][]string{{"enable", "--", string(u)}, {"restart", "--", string(u)}} {
		out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput() //nolint:gosec // likewise
		if err != nil {
			return fmt.Errorf("systemctl %s: %w: %s: see journalctl -u %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)), u)
		}
	}
	return nil
}
