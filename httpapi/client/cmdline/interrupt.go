package cmdline

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalError is the cause of a context that a signal has ended. A request that was under way when
// the signal came returns this error, not context.Canceled.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return "ended by signal " + e.signal.String() }

// UntilSignal returns a context that SIGINT or SIGTERM ends. The next such signal ends the process
// at once, as without a handler.
func UntilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-caught:
			signal.Stop(caught)
			if number, is := s.(syscall.Signal); is {
				cancel(signalError{number})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(caught)
		cancel(nil)
	}
}

// Signaled returns the exit code of a program that a signal has ended, as shells have it: 130
// after SIGINT, 143 after SIGTERM; 0: no signal has come.
func Signaled(ctx context.Context) ExitError {
	if e, is := errors.AsType[signalError](context.Cause(ctx)); is {
		return ExitError(128 + int(e.signal))
	}
	return 0
}

// WithoutCancel returns an error, of which parts may be joined, without the parts that only report
// the end of the context.
func WithoutCancel(err error) error {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		var rest []error
		whole := true
		for _, part := range joined.Unwrap() {
			left := WithoutCancel(part)
			whole = whole && left == part //nolint:errorlint // the same one
			rest = append(rest, left)
		}
		if whole {
			return err
		}
		return errors.Join(rest...)
	}
	if _, is := errors.AsType[signalError](err); is || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Pause waits for a time, and returns the context's error if the context ends before.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
