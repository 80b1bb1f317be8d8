package process

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/node/runner/isolate"
)

// What a host lacks sends a job to another host; what a user can bring about ends that user's job, and rests no host.
func TestOfNode(t *testing.T) {
	t.Parallel()
	account := &isolate.Account{}
	for text, v := range map[string]struct {
		err     error
		account *isolate.Account
		bounded bool
		want    bool
	}{
		"processes":                       {fmt.Errorf("/proc/self/exe: %w", unix.EAGAIN), nil, false, true},
		"memory":                          {unix.ENOMEM, nil, false, true},
		"memory, of which it has a share": {unix.ENOMEM, nil, true, false},
		"files":                           {unix.EMFILE, account, true, true},
		"a disk":                          {unix.ENOSPC, account, true, true},
		"its files":                       {fs.ErrNotExist, nil, false, true},
		"a quota of its account":          {fmt.Errorf("chown: %w", unix.EDQUOT), account, false, false},
		"a quota of the agent":            {fmt.Errorf("chown: %w", unix.EDQUOT), nil, false, true},
		"a program of the node":           {errors.New("the program berth is not installed"), account, true, true},
		"a checkpoint":                    {&deniedError{unix.EROFS}, nil, false, false},
		"a checkpoint, in a text":         {fmt.Errorf("its folder: %w", &deniedError{unix.ENOTCONN}), account, false, false},
	} {
		if got := ofNode(v.err, v.account, v.bounded); got != v.want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
