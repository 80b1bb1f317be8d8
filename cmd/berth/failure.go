package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitUnreachable = 5
)

// usageError is the error of a command line that is not valid.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// noArgs refuses positional arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}

// exitError ends the program with a job's exit code, without an error message.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("the job ended with exit code %d", int(e)) }

// exitCode returns the exit code of a failed command: 1, or a more specific one.
func exitCode(err error) int {
	if _, is := errors.AsType[*usageError](err); is {
		return exitUsage
	}
	if e, is := errors.AsType[exitError](err); is {
		return int(e)
	}
	if p, is := errors.AsType[*wire.Problem](err); is {
		switch p.Status {
		case http.StatusNotFound:
			return exitNotFound
		case http.StatusUnauthorized, http.StatusForbidden:
			return exitDenied
		case http.StatusServiceUnavailable:
			return exitUnreachable
		}
		return exitFailure
	}
	if errors.Is(err, client.ErrUnreachable) || isDialError(err) {
		return exitUnreachable
	}
	return exitFailure
}

// advise adds a remedy to the error of a cluster that cannot be reached.
func advise(err error) error {
	if exitCode(err) != exitUnreachable || !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w; is the cluster running? give its peers with --address or BERTH_ADDRESS", err)
}

// notFound returns an error like the cluster's own for an object that does not exist.
func notFound(format string, args ...any) error {
	return &wire.Problem{Status: http.StatusNotFound, Code: wire.CodeNotFound, Detail: fmt.Sprintf(format, args...)}
}

func isDialError(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "dial"
}

// oneLine returns an error's text without line breaks; its lines are joined by semicolons.
func oneLine(err error) string {
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
