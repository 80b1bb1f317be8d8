package jobs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// stdinPatience is how long open standard input may be silent before a job is run without input:
// parent programs often leave a pipe open to which nothing is ever written.
const stdinPatience = 2 * time.Second

// input holds the flags for a job's standard input.
type input struct{ wait, none bool }

func (i *input) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&i.wait, "stdin", false, "wait for the end of standard input, even if it is silent")
	f.BoolVar(&i.none, "no-stdin", false, "do not read standard input: the job gets none")
	cmd.MarkFlagsMutuallyExclusive("stdin", "no-stdin")
}

// read returns the job's standard input as base64; empty: nothing. A terminal, a device and closed
// input count as nothing.
func (i *input) read(ctx context.Context, from *os.File, say io.Writer) (string, error) {
	info, err := from.Stat()
	if i.none || err != nil || info.IsDir() || info.Mode()&os.ModeCharDevice != 0 {
		return "", nil //nolint:nilerr // it is closed
	}
	data, err := i.readAll(ctx, from, say)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read standard input: %w", err)
	case len(data) > model.MaxStdin:
		return "", cmdline.Usage("standard input is larger than the %d bytes that are passed on: put it into a file that the nodes have, "+
			"as with -D \"$PWD\" -- sh -c 'program < file', or leave it out with --no-stdin", model.MaxStdin)
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

// ReadStdin returns the standard input of this program for a job as base64, see [input.read].
func ReadStdin(ctx context.Context, say io.Writer) (string, error) {
	return (&input{}).read(ctx, os.Stdin, say)
}

// readAll reads until the end, or one byte more than the limit.
func (i *input) readAll(ctx context.Context, from io.Reader, say io.Writer) ([]byte, error) {
	type piece struct {
		data []byte
		err  error
	}
	pieces := make(chan piece)
	done := make(chan struct{})
	defer close(done)
	go func() { // may outlive the wait: a read of a pipe cannot be canceled
		for {
			buffer := make([]byte, model.MaxStdin+1)
			n, err := from.Read(buffer)
			select {
			case pieces <- piece{buffer[:n], err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	silence := time.NewTimer(stdinPatience)
	defer silence.Stop()
	var all []byte
	for {
		select {
		case p := <-pieces:
			if all = append(all, p.data...); len(all) > model.MaxStdin || errors.Is(p.err, io.EOF) {
				return all, nil
			}
			if p.err != nil {
				return nil, p.err
			}
		case <-silence.C:
			switch {
			case len(all) > 0:
			case i.wait:
				fmt.Fprintln(say, "Waiting for the end of standard input")
			default:
				fmt.Fprintln(say, "Standard input is open but silent: the job runs without input; --stdin waits for its end")
				return nil, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
