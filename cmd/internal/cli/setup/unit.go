package setup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
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
	said []string // the last lines of this start; none: they are not known
	err  error
}

func (e *notUpError) Error() string {
	switch len(e.said) {
	case 0:
		return fmt.Sprintf("%s does not start: %v: see journalctl -u %s", e.unit, e.err, e.unit)
	case 1:
		return fmt.Sprintf("%s does not start: %s", e.unit, e.said[0])
	}
	return fmt.Sprintf("%s does not start:\n  %s", e.unit, strings.Join(e.said, "\n  "))
}

func (e *notUpError) Unwrap() error { return e.err }

// start enables the unit and starts it, or restarts it with its new settings.
func (u unit) start(ctx context.Context) error {
	began := time.Now()
	for _, verb := range []string{"enable", "restart"} {
		out, err := exec.CommandContext(ctx, "systemctl", verb, "--", string(u)).CombinedOutput() //nolint:gosec // likewise
		switch {
		case err == nil:
		case verb == "enable":
			return fmt.Errorf("systemctl enable %s: %w: %s: see journalctl -u %s", u, err, strings.TrimSpace(string(out)), u)
		default:
			err = fmt.Errorf("systemctl restart %s: %w: %s", u, err, strings.TrimSpace(string(out)))
			return &notUpError{unit: u, said: u.said(ctx, began), err: err}
		}
	}
	return nil
}

// mostSaid bounds the lines of a start that are shown.
const mostSaid = 8

// said returns the last lines that the programs of the newest start have written, the check before it included; none: they are not known.
func (u unit) said(ctx context.Context, since time.Time) []string {
	show := []string{"show", "--property=InvocationID", "--value", "--", string(u)}
	id, err := exec.CommandContext(ctx, "systemctl", show...).Output() //nolint:gosec // likewise
	if of := strings.TrimSpace(string(id)); err == nil && of != "" {
		if lines := u.journal(ctx, "_SYSTEMD_INVOCATION_ID="+of); len(lines) > 0 {
			return lines
		}
	}
	return u.journal(ctx, fmt.Sprintf("--since=@%d", since.Unix()))
}

// journal returns the last lines of the unit's programs, and not those of systemd, that match an argument of journalctl. A journal may
// not know the names of programs that have ended at once, so they are not asked for.
func (u unit) journal(ctx context.Context, match string) (lines []string) {
	args := []string{"--no-pager", "--quiet", "--boot", "--output=cat", "-u", string(u), "_TRANSPORT=stdout", match}
	args = append(args, "--lines=200")                                   // those that tell what goes well are left out
	out, err := exec.CommandContext(ctx, "journalctl", args...).Output() //nolint:gosec // likewise
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "berth: ")
		if line == "" || usual(line) || slices.Contains(lines, line) { // a unit that starts again and again says the same
			continue
		}
		lines = append(lines, line)
	}
	return lines[max(0, len(lines)-mostSaid):]
}

// usual reports whether a line of a log, in either form, tells what goes well.
func usual(line string) bool {
	for _, level := range []string{"INFO", "DEBUG"} {
		if strings.Contains(line, " level="+level+" ") || strings.Contains(line, `"level":"`+level+`"`) {
			return true
		}
	}
	return false
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
