package main

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// full is an output that takes nothing more.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A broken connection is tried again; an output that cannot be written is not.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	_, err := io.WriteString(output{full{}}, "x")
	if !errors.Is(err, errFull) || passing(err) {
		t.Errorf("after %v the program tries on", err)
	}
	if joined := errors.Join(io.ErrUnexpectedEOF, err); passing(joined) {
		t.Errorf("after %v the program tries on", joined)
	}
	for _, err := range []error{io.ErrUnexpectedEOF, &wire.Problem{Status: http.StatusServiceUnavailable}} {
		if !passing(err) {
			t.Errorf("after %v the program gives up", err)
		}
	}
}
