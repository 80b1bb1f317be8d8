// Package former builds the program of the release before, for tests of upgrades.
package former

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Release is the release before, a tag or, until there is one, a commit: the last whose programs know feature level 4.
const Release = "87e5f077aceccdc94863b6758b7dc289b09d32ff"

// ErrNoHistory means that the release is not in the history of the working tree.
var ErrNoHistory = errors.New("the history of the repository is not there: git fetch --unshallow --tags brings it")

// Program returns the path of berthd of the release, of the repository that a folder is in. The program is built once and kept in the
// cache folder of the user.
func Program(ctx context.Context, repository string) (path string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(cache, "berth", "former", Release+"-"+runtime.Version()+"-"+runtime.GOARCH)
	if built(path) {
		return path, nil
	}
	if err := run(ctx, repository, "git", "cat-file", "-e", Release+"^{commit}"); err != nil {
		return "", fmt.Errorf("%w (%w)", ErrNoHistory, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := build(ctx, repository, work); err != nil {
		return "", err
	}
	return path, os.Rename(filepath.Join(work, "bin", "berthd"), path) // the same file, if another process has been faster
}

func built(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// build builds the program in the folder bin of a folder.
func build(ctx context.Context, repository, work string) error {
	sources, bin := filepath.Join(work, "sources"), filepath.Join(work, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	repository, err := filepath.Abs(repository)
	if err != nil {
		return err
	}
	for _, step := range [][]string{
		{work, "git", "clone", "-q", "--shared", "--no-checkout", top(ctx, repository), sources}, // a clone, since Go notes its commit in the programs
		{sources, "git", "checkout", "-q", "--detach", Release},
		// Without optimization, which takes a third of the time, and without berth and berth-supervisor, in whose place berthd serves.
		{sources, "go", "build", "-gcflags=github.com/berth-gpu/berth/...=-N -l", "-ldflags=-s -w", "-o", bin, "./cmd/berthd"},
	} {
		if err := run(ctx, step[0], step[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// top returns the top folder of the working tree that a folder is in.
func top(ctx context.Context, folder string) string {
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel")
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		return folder
	}
	return strings.TrimSpace(string(out))
}

func run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
