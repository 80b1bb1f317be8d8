package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/terminal"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// passing reports whether an error is temporary. An error of writing to this program's own output is
// not: no later try can succeed.
func passing(err error) bool {
	_, own := errors.AsType[*outputError](err)
	return !own && cmdline.Passing(err)
}

// outputError is an error of writing to this program's own output, such as a full disk.
type outputError struct{ err error }

func (e *outputError) Error() string { return "writing the output of the job: " + e.err.Error() }

func (e *outputError) Unwrap() error { return e.err }

// output marks errors of the writer that it wraps.
type output struct{ to io.Writer }

func (o output) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil {
		err = &outputError{err}
	}
	return n, err
}

// endOf turns a job's end into this program's.
func endOf(d *wire.Detail) error {
	switch a := d.Array; {
	case a != nil && a.Completed < a.Size:
		return fmt.Errorf("%d of %d tasks of job %s failed, %d were canceled; see berth tasks %s", a.Failed, a.Size, d.ID, a.Canceled, d.ID)
	case d.State == wire.StateCompleted:
		return nil
	case d.State == wire.StateCanceled:
		return fmt.Errorf("job %s was canceled", d.ID)
	case d.Signal > 0:
		return cmdline.ExitError(128 + d.Signal)
	case d.ExitCode != nil && *d.ExitCode > 0:
		return cmdline.ExitError(*d.ExitCode)
	}
	return fmt.Errorf("job %s failed: %s", d.ID, d.Reason)
}

// stream is one output of one rank, and where it is shown.
type stream struct {
	name string
	rank int64
	to   io.Writer
	next int64 // where the output of the present attempt goes on, in bytes

	begun bool      // some output of the present attempt was asked for
	away  time.Time // since when the node with the output cannot be reached; zero: it can
	ended time.Time // since when the rank is known to have ended, while the node cannot be reached; zero: it runs
	told  bool      // the user knows that the node cannot be reached
}

// jobStreams returns a job's outputs as this program's own; on a terminal without control
// characters other than those of text, unless --raw is given.
func jobStreams(cmd *cobra.Command, raw bool) []stream {
	out, errs := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if raw {
		out, errs = terminal.Raw(out), terminal.Raw(errs)
	}
	return []stream{{name: "stdout", to: out}, {name: "stderr", to: errs}}
}

// followJob copies a job's output to this program's until the job has ended; that of an array for
// all tasks, each line with the task's number.
func followJob(ctx context.Context, cmd *cobra.Command, api *client.Client, job *wire.Job) (err error) {
	streams := jobStreams(cmd, false)
	if job.Array != nil {
		err = followTasks(ctx, api, job.ID, streams, nil, cmd.ErrOrStderr())
	} else {
		f := follower{api: api, id: job.ID, say: cmd.ErrOrStderr()}
		err = f.all(ctx, streams)
	}
	if errors.Is(err, errMissing) { // the exit code is the job's, and the user knows
		return nil
	}
	return err
}

// ranksOf returns how many ranks an attempt has, and reports whether it has output, or never will
// have.
func ranksOf(d *wire.Detail, n int64) (ranks int, started bool) {
	for _, a := range d.History {
		if a.Number == n {
			return len(a.Ranks), !a.StartedAt.IsZero() || !a.EndedAt.IsZero()
		}
	}
	return 1, true
}

// forRanks returns the streams of each rank. Streams of several ranks to one place are interleaved
// by the line.
func forRanks(streams []stream, ranks int) (out []stream) {
	turns := &sync.Mutex{}
	for rank := range int64(max(ranks, 1)) {
		for _, s := range streams {
			if s.rank = rank; ranks > 1 {
				s.to = &lined{to: s.to, head: fmt.Sprintf("[%d] ", rank), turns: turns}
			}
			out = append(out, s)
		}
	}
	return out
}

// lined writes whole lines, each with a prefix.
type lined struct {
	to    io.Writer
	head  string
	turns *sync.Mutex
	rest  []byte // of a line that is not complete yet
}

// maxLine bounds what is kept of a line without an end, in bytes.
const maxLine = 64 << 10

// Write keeps an incomplete line for later.
func (l *lined) Write(data []byte) (int, error) {
	l.rest = append(l.rest, data...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) > maxLine {
		end = len(l.rest)
	}
	if err := l.write(l.rest[:end]); err != nil {
		return 0, err
	}
	l.rest = l.rest[end:]
	return len(data), nil
}

// flush writes a last line without a line break.
func (l *lined) flush() error {
	defer func() { l.rest = nil }()
	if len(l.rest) == 0 {
		return nil
	}
	return l.write(append(l.rest, '\n'))
}

func (l *lined) write(lines []byte) error {
	l.turns.Lock()
	defer l.turns.Unlock()
	for line := range bytes.Lines(lines) {
		if _, err := fmt.Fprintf(l.to, "%s%s", l.head, line); err != nil {
			return err
		}
	}
	return nil
}
