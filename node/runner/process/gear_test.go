package process

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

// What a host lacks sends a job to another host; what the job itself lacks ends it.
func TestOfNode(t *testing.T) {
	t.Parallel()
	for text, v := range map[string]struct {
		err  error
		want bool
	}{
		"processes":     {fmt.Errorf("/bin/sh in /: %w", unix.EAGAIN), true},
		"memory":        {unix.ENOMEM, true},
		"a mount":       {fmt.Errorf("there is no program: %w", unix.ESTALE), true},
		"its files":     {needed(fs.ErrNotExist), true},
		"no program":    {fs.ErrNotExist, false},
		"no permission": {unix.EACCES, false},
		"no executable": {unix.ENOEXEC, false},
		"long":          {unix.E2BIG, false},
		"a checkpoint":  {&deniedError{unix.EROFS}, false},
		"anything":      {errors.New("the environment has no end"), false},
	} {
		if got := ofNode(v.err); got != v.want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if needed(nil) != nil {
		t.Error("no error is one")
	}
}
