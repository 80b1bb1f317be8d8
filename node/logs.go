package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/nodeapi"
	"github.com/berth-gpu/berth/node/runner"
)

// Logs finds the output of a node's ranks, for package nodeapi.
type Logs struct{ Journal *journal.Journal }

var _ nodeapi.Logs = Logs{}

// Open opens a stream of a rank's output; fs.ErrNotExist: the node has none.
func (l Logs) Open(rank model.RankKey, stream nodeapi.Stream) (*os.File, error) {
	path, ok := l.Journal.Find(rank)
	if !ok {
		return nil, fmt.Errorf("rank %s: %w", rank, fs.ErrNotExist)
	}
	name := runner.StdoutFile
	if stream == nodeapi.Stderr {
		name = runner.StderrFile
	}
	return openRegular(filepath.Join(path, name))
}

// Ended reports whether a rank no longer writes.
func (l Logs) Ended(rank model.RankKey) bool {
	path, ok := l.Journal.Find(rank)
	if !ok {
		return true
	}
	f, err := runner.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	phase, _, err := f.Phase()
	return err == nil && phase.Ended()
}

// openRegular opens a file that a job could have replaced: links, pipes and devices are refused.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) //nolint:gosec // in a rank's own folder
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is no file: %w", path, fs.ErrNotExist)
	}
	return f, nil
}
