package process

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// What a job of an account pulls is no use of the disk by its other jobs: the folder for images is the account's, and eviction
// bounds it. The second rank is measured after the first one, and shows that measurements go on.
func TestImagesAreNotCharged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ranks.Close()
	images := t.TempDir()
	path := filepath.Join(images, fmt.Sprint(os.Getuid()), "pulled")
	b.rules.Scratch, b.rules.Images = Scratch{Bytes: 1 << 20}, images
	b.rules.Client = program(t, "head -c 8000000 /dev/zero > "+path+"; echo up > up; until [ -e go ]; do sleep 0.01; done")
	b.open()
	pulls := b.rank("true", inSlurm).start()
	pulls.file("up")
	if got := b.rank("head -c 8000000 /dev/zero > x; exec sleep 600", plain).start().exit(); got.Delivered != model.ReasonDiskLimit {
		t.Fatalf("the second rank ended with %+v", got)
	}
	pulls.letGo()
	if got := pulls.exit(); !got.Clean() || got.Delivered != model.ReasonNone {
		t.Errorf("ended with %+v: %s", got, pulls.output(runner.StderrFile))
	}
}
