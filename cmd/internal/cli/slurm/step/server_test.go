package step

import (
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

// TestAccept checks that connections are accepted after one that could not be, and until the listener is closed.
func TestAccept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, other := net.Pipe()
		results := []error{nil, unix.EMFILE, unix.ECONNABORTED, errors.New("another"), nil, net.ErrClosed}
		served, tries := []int{}, 0
		accept(func() (net.Conn, error) {
			tries++
			return one, results[tries-1]
		}, func(net.Conn) { served = append(served, tries) })
		if !slices.Equal(served, []int{1, 5}) || tries != len(results) {
			t.Errorf("after %d tries these were served: %v", tries, served)
		}
		_, _ = one.Close(), other.Close()
	})
}
