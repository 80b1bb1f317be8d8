package node

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/runner"
)

const (
	maxTails  = 64 // under way; further ones are left out
	tailTries = 3
)

// tail sends the end of an ended rank's output to the peers, for times when this node is unreachable. After a
// few failures it gives up: the node has all of the output.
func (t *reporter) tail(u *unit) {
	select {
	case t.tails <- struct{}{}:
	default:
		return
	}
	name, rank := u.name, u.record.Rank
	t.work.Go(func() {
		defer func() { <-t.tails }()
		body := &agentwire.Tail{Node: t.Self.Node, Rank: rank}
		if path, ok := t.Journal.Path(name); ok {
			body.Stdout = endOf(filepath.Join(path, runner.StdoutFile))
			body.Stderr = endOf(filepath.Join(path, runner.StderrFile))
		}
		if len(body.Stdout)+len(body.Stderr) > 0 {
			t.sendTail(body)
		}
	})
}

func (t *reporter) sendTail(body *agentwire.Tail) {
	for range tailTries {
		ctx, cancel := context.WithTimeout(t.ctx, patience)
		err := t.Cluster.Tail(ctx, body)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-time.After(time.Second):
		case <-t.ctx.Done():
			return
		}
	}
}

// endOf returns the end of a file; nothing if the file cannot be read.
func endOf(path string) []byte {
	f, err := openRegular(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	size := min(info.Size(), agentwire.MaxTail)
	data, err := io.ReadAll(io.NewSectionReader(f, info.Size()-size, size))
	if err != nil {
		return nil
	}
	return data
}
