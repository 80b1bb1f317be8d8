// Package newer builds the program of a later release, for tests of upgrades: the same program, which knows one more feature level.
package newer

import (
	"context"
	"fmt"
	"os/exec"
)

// Tag is the build tag of the program.
const Tag = "berth_next_level"

// Build builds berthd of the working tree that a folder is in, with more flags of go build, and writes the program to a path.
func Build(ctx context.Context, folder, path string, flags ...string) error {
	args := append([]string{"build", "-tags=" + Tag, "-buildvcs=false", "-o", path}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/berth-gpu/berth/cmd/berthd")...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}
