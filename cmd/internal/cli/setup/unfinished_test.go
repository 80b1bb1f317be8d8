package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// A full disk is one message, whichever and however many files could not be written.
func TestAFullDiskWhileJoining(t *testing.T) {
	t.Parallel()
	full := errors.Join(&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, fmt.Errorf("b: %w", syscall.ENOSPC))
	if got := unfinished(full).Error(); strings.Contains(got, "\n") || !strings.Contains(got, "with the same token") || strings.Count(got, "no space left") != 1 {
		t.Error(got)
	}
	if other := errors.New("x"); !errors.Is(unfinished(other), other) || unfinished(other).Error() != "x" || unfinished(nil) != nil {
		t.Error("another error has changed")
	}
}
