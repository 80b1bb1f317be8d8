package cmdline

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"
)

// Of an error that a signal has caused only what it has not caused is left.
func TestWithoutCancel(t *testing.T) {
	t.Parallel()
	other := errors.New("the disk is full")
	canceled := fmt.Errorf("waiting: %w", context.Canceled)
	for _, v := range []struct{ err, want error }{
		{canceled, nil},
		{&url.Error{Op: "Get", URL: "http://127.0.0.1/queue", Err: signalError{syscall.SIGTERM}}, nil},
		{errors.Join(canceled, context.Canceled), nil},
		{other, other},
		{errors.Join(canceled, other), other},
	} {
		if got := WithoutCancel(v.err); (got == nil) != (v.want == nil) || got != nil && got.Error() != v.want.Error() {
			t.Errorf("%v: %v", v.err, got)
		}
	}
}
