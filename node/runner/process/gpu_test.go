package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// realGPUs returns the UUIDs of this host's GPUs, as its driver shows them.
func realGPUs(t *testing.T) (ids []model.GPUID) {
	t.Helper()
	files, err := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
	if err != nil || len(files) == 0 {
		t.Skip("needs a host with an NVIDIA GPU")
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if id, is := strings.CutPrefix(line, "GPU UUID:"); is {
				ids = append(ids, model.GPUID(strings.TrimSpace(id)))
			}
		}
	}
	return ids
}

// A job reaches its own GPUs under its user's account, and no others.
func TestRealGPUs(t *testing.T) {
	ids := realGPUs(t)
	b := isolated(t, unchanged)
	devices := `for d in /dev/nvidia[0-9]*; do test "$(stat -c %t:%T $d)" = 1:3 || echo reaches $d; done; nvidia-smi -L`
	k := b.rank(devices, ada).start()
	k.exit()
	if out := k.output(runner.StdoutFile); strings.Contains(out, "reaches") || strings.Contains(out, "UUID") {
		t.Errorf("without a GPU: %s", out)
	}
	k = b.rank(devices, func(r *runner.Record) { ada(r); r.GPUs = []runner.GPU{{ID: ids[0]}} }).start()
	k.exit()
	out := k.output(runner.StdoutFile)
	if strings.Count(out, "reaches") != 1 || !strings.Contains(out, string(ids[0])) {
		t.Errorf("with a GPU: %s%s", out, k.output(runner.StderrFile))
	}
}
