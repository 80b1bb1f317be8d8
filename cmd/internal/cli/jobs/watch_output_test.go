package jobs

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// fullDisk is an output that takes nothing more.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A broken connection is tried again; an output that cannot be written is not.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	_, err := io.WriteString(output{fullDisk{}}, "x")
	if !errors.Is(err, syscall.ENOSPC) || passing(err) {
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
