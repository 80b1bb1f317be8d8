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

// notUpError is that a unit was enabled and does not come up.
type notUpError struct {
	unit unit
	said string // the last line of its program; empty: none is known
	err  error
}

func (e *notUpError) Error() string {
	if e.said != "" {
		return fmt.Sprintf("%s does not start: %s", e.unit, e.said)
	}
	return fmt.Sprintf("%s does not start: %v: see journalctl -u %s", e.unit, e.err, e.unit)
}

func (e *notUpError) Unwrap() error { return e.err }

// start enables the unit and starts it, or restarts it with its new settings.
func (u unit) start(ctx context.Context) error {
	for _, verb := range []string{"enable", "restart"} {
		out, err := exec.CommandContext(ctx, "systemctl", verb, "--", string(u)).CombinedOutput() //nolint:gosec // likewise
		switch {
		case err == nil:
		case verb == "enable":
			return fmt.Errorf("systemctl enable %s: %w: %s: see journalctl -u %s", u, err, strings.TrimSpace(string(out)), u)
		default:
			return &notUpError{unit: u, said: u.last(ctx), err: fmt.Errorf("systemctl restart %s: %w: %s", u, err, strings.TrimSpace(string(out)))}
		}
	}
	return nil
}

// last returns the last line that a program of the unit has written; empty: none is known.
func (u unit) last(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "journalctl", "--no-pager", "--quiet", "--boot", "--lines=1", "--output=cat", "_COMM=berthd", "-u", string(u)).Output() //nolint:gosec // likewise
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "berth: ")
}

// asRoot reports whether the unit runs as root. Without systemd its program is started by this account.
func (u unit) asRoot(ctx context.Context) bool {
	if os.Geteuid() != 0 {
		return false
	}
	if !u.ready(ctx) {
		return true
	}
	out, err := exec.CommandContext(ctx, "systemctl", "show", "--property=User", "--value", "--", string(u)).Output() //nolint:gosec // likewise
	name := strings.TrimSpace(string(out))
	return err == nil && (name == "" || name == "root" || name == "0")
}
