package cmdline

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

// The exit codes.
const (
	ExitFailure     = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitDenied      = 4
	ExitUnreachable = 5
	ExitRemoved     = 6 // a peer was removed from its cluster: systemd does not start it again
)

// usageError is the error of a command line that is not valid.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Usage returns the error of a command line that is not valid.
func Usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// codedError is an error with an exit code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// WithCode returns an error for which the program ends with a certain exit code.
func WithCode(code int, err error) error { return &codedError{code, err} }

// ExitError ends the program with a job's exit code, without an error message.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("the job ended with exit code %d", int(e)) }

// ExitCode returns the exit code of a failed command: 1, or a more specific one.
func ExitCode(err error) int {
	if _, is := errors.AsType[*usageError](err); is {
		return ExitUsage
	}
	if e, is := errors.AsType[ExitError](err); is {
		return int(e)
	}
	if e, is := errors.AsType[*codedError](err); is {
		return e.code
	}
	if p, is := errors.AsType[*wire.Problem](err); is {
		switch p.Status {
		case http.StatusNotFound:
			return ExitNotFound
		case http.StatusUnauthorized, http.StatusForbidden:
			return ExitDenied
		case http.StatusServiceUnavailable:
			return ExitUnreachable
		}
		return ExitFailure
	}
	if errors.Is(err, client.ErrUnreachable) || isDialError(err) {
		return ExitUnreachable
	}
	return ExitFailure
}

// Advise adds a remedy to the error of a cluster that cannot be reached. Where a machine has answered, or a name is unknown, the
// reason is known, and the remedy does not ask whether the cluster runs.
func Advise(err error) error {
	if ExitCode(err) != ExitUnreachable || !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	_, answered := errors.AsType[*trust.HandshakeError](err)
	timeout, is := errors.AsType[net.Error](err)
	silent := is && timeout.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
	name, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case answered && !silent:
		return err
	case unknown && name.IsNotFound:
		return fmt.Errorf("%w; give the cluster's peers with --address or BERTH_ADDRESS", err)
	}
	return fmt.Errorf("%w; is the cluster running? give its peers with --address or BERTH_ADDRESS", err)
}

// NotFound returns an error like the cluster's own for an object that does not exist.
func NotFound(format string, args ...any) error {
	return &wire.Problem{Status: http.StatusNotFound, Code: wire.CodeNotFound, Detail: fmt.Sprintf(format, args...)}
}

func isDialError(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "dial"
}

// OneLine returns an error's text without line breaks; its lines are joined by semicolons.
func OneLine(err error) string {
	text := ""
	for line := range strings.Lines(err.Error()) {
		switch words := strings.Join(strings.Fields(line), " "); {
		case words == "":
		case text == "" || strings.ContainsRune(":;,.", rune(text[len(text)-1])):
			text = strings.TrimSpace(text + " " + words)
		default:
			text += "; " + words
		}
	}
	return text
}
