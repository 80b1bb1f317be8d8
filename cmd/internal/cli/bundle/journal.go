package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Bounds of logs.
const (
	usualLines = 5000
	mostLines  = 1_000_000
	longest    = 64 << 20 // bytes of the end of a file that are looked at
)

// journalParts returns the last lines of the journals of units, and of files that the caller has named.
func journalParts(units []string, q *request) (out []Part) {
	for _, unit := range units {
		out = append(out, Part{Name: "logs/" + unit + ".log", What: "the end of the journal of the unit", Collect: func(ctx context.Context) (string, error) {
			return journal(ctx, unit, q.lines)
		}})
	}
	for i, path := range q.logs {
		name := fmt.Sprintf("logs/%d-%s", i+1, safe(filepath.Base(path)))
		out = append(out, Part{
			Name: name, What: "the end of " + filepath.Base(path),
			Collect: func(context.Context) (string, error) { return tail(path, q.lines) },
		})
	}
	return out
}

// journal returns the last lines of a unit.
func journal(ctx context.Context, unit string, lines int) (string, error) {
	if _, err := exec.LookPath("journalctl"); err != nil {
		return "", errors.New("journalctl is not installed: name the file of the log with --log")
	}
	cmd := exec.CommandContext(ctx, "journalctl", "--no-pager", "-o", "short-iso-precise", "-n", strconv.Itoa(lines), "-u", unit) //nolint:gosec // a name of ours
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("journalctl: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return string(out), nil
}

// tail returns the last lines of a file.
func tail(path string, lines int) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the file that the caller names
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	if _, err := f.Seek(max(0, info.Size()-longest), io.SeekStart); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, longest))
	if err != nil {
		return "", err
	}
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return strings.Join(all[max(0, len(all)-lines):], ""), nil
}
