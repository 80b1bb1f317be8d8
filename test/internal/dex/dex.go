// Package dex builds the identity provider dex (https://dexidp.io), for tests.
package dex

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrNoSources means that the modules of the provider cannot be downloaded here.
var ErrNoSources = errors.New("the modules of dex are not there, and cannot be downloaded: set GOPROXY")

// Program returns the path of the provider's program, of the module in the folder server of this package, below the folder here. The
// program is built once and kept in the cache folder of the user.
func Program(ctx context.Context, here string) (path string, err error) {
	module := filepath.Join(here, "server")
	sum := sha256.New()
	for _, name := range []string{"main.go", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		_, _ = sum.Write(text) // never fails
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path = filepath.Join(cache, "berth", "dex", hex.EncodeToString(sum.Sum(nil)[:8])+"-"+runtime.Version()+"-"+runtime.GOARCH)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if out, err := run(ctx, module, "go", "mod", "download"); err != nil {
		return "", fmt.Errorf("%w (%s)", ErrNoSources, out)
	}
	work, err := os.MkdirTemp(filepath.Dir(path), "build-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	built := filepath.Join(work, "dex")
	if out, err := run(ctx, module, "go", "build", "-ldflags=-s -w", "-o", built, "."); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, os.Rename(built, path) // the same file, if another process has been faster
}

func run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
