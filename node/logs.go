package node

import (
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
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

// Records reads what the ranks of a node run, for package nodeapi.
type Records struct{ Journal *journal.Journal }

var _ nodeapi.Records = Records{}

// Record returns what a rank runs; fs.ErrNotExist: the node has no such rank.
func (r Records) Record(rank model.RankKey) (*agentwire.Record, error) {
	path, ok := r.Journal.Find(rank)
	if !ok {
		return nil, fmt.Errorf("rank %s: %w", rank, fs.ErrNotExist)
	}
	f, err := runner.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	record, err := f.Record()
	if err != nil {
		return nil, err
	}
	out := &agentwire.Record{
		Rank: record.Rank, Placed: record.Placed, Spec: record.Job.Spec, Ranks: uint32(len(record.Orders.Gang)), GPUs: record.IDs(),
	}
	copy(out.Secret[:], record.Orders.Secret)
	if record.Job.Script {
		if out.Script, err = readText(path, record.ScriptName(), model.MaxScript); err != nil {
			return nil, err
		}
	}
	env, err := runner.RunFolder{Path: record.Run, Boot: record.Boot}.Environment(filepath.Base(path), &record.Job)
	if err != nil {
		return nil, err
	}
	out.Env, out.SubmitEnv = string(env.Job), string(env.Submit)
	if record.Job.Stdin {
		text, err := readText(path, runner.StdinFile, maxText)
		if err != nil {
			return nil, err
		}
		out.Stdin = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return out, nil
}

// maxText bounds a standard input, in bytes.
const maxText = 1 << 20

// readText reads a file of a rank's folder.
func readText(folder, name string, most int64) (string, error) {
	f, err := openRegular(filepath.Join(folder, name))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", filepath.Join(folder, name), most)
	}
	return string(text), err
}
