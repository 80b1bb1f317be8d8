package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/build"
)

// smallSupervisor is the program with only the supervisor, in the folder of this program.
const smallSupervisor = "berth-supervisor"

// askLimit bounds the wait for that program's version.
const askLimit = 5 * time.Second

// supervisorOf returns the command that an agent starts for each rank: the small program in its
// folder, or the agent's own if the small one is missing or of another version. The warning says
// why a small program that is there is not used.
func supervisorOf(ctx context.Context, self string) (program []string, warning string) {
	own := []string{self, "supervise"}
	small := filepath.Join(filepath.Dir(self), smallSupervisor)
	if _, err := os.Stat(small); errors.Is(err, fs.ErrNotExist) {
		return own, ""
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	said, err := exec.CommandContext(ctx, small, "version").Output() //nolint:gosec // installed with this program
	version := strings.TrimPrefix(strings.TrimSpace(string(said)), smallSupervisor+" ")
	switch {
	case err != nil:
		return own, fmt.Sprintf("%s is not used: its version cannot be read: %v", small, err)
	case version != build.Version():
		return own, fmt.Sprintf("%s is not used: it is of version %.100q, and this agent of %s: install both together", small, version, build.Version())
	}
	return []string{small, "supervise"}, ""
}
