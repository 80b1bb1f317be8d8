package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// WaitQuietly is how long a command waits before its user sees the reason.
const WaitQuietly = 2 * time.Second

// ReadInput reads a file that a user names, and of a larger one no more than limit+1 bytes. A pipe
// can block for any time: the end of the context ends the wait, and after a while a notice goes to
// say.
func ReadInput(ctx context.Context, path string, limit int64, say io.Writer) ([]byte, error) {
	type content struct {
		data []byte
		err  error
	}
	done := make(chan content, 1) // the reading goroutine may outlive the wait
	go func() {
		data, err := readStart(path, limit)
		done <- content{data, err}
	}()
	slow := time.NewTimer(WaitQuietly)
	defer slow.Stop()
	for {
		select {
		case c := <-done:
			return c.data, c.err
		case <-slow.C:
			what := "which is slow"
			if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
				what = "which is a pipe, until its writer closes it"
			}
			fmt.Fprintf(say, "Reading %s, %s\n", path, what)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readStart reads at most limit+1 bytes of a file.
func readStart(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	return io.ReadAll(io.LimitReader(f, limit+1))
}
