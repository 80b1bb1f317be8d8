package cmdline

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
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

// UTF8Text returns an error that names the first byte at which a text is not UTF-8, or nil.
// Requests are JSON, which can carry no other bytes.
func UTF8Text(text string) error {
	if at := model.InvalidByte(text); at >= 0 {
		return fmt.Errorf("is not valid UTF-8: byte %d is 0x%02x, and requests carry UTF-8 only; convert the text, or rename the file", at+1, text[at])
	}
	return nil
}
