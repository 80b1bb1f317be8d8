package start

import (
	"bytes"
	"testing"

	"github.com/berth-gpu/berth/slurm/cli/host"
)

// TestWaitCode checks the exit codes of sbatch --wait.
func TestWaitCode(t *testing.T) {
	t.Parallel()
	number := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		state  string
		code   *int64
		signal int64
		want   int
	}{
		"completed":          {"completed", number(0), 0, 0},
		"failed":             {"failed", number(7), 0, 7},
		"a signal":           {"failed", nil, 12, 1},
		"both":               {"failed", number(3), 9, 1},
		"canceled":           {"canceled", nil, 0, 1},
		"failed without one": {"failed", number(0), 0, 1},
	} {
		if got := shellCode(c.state, c.code, c.signal); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestWrongOption checks the exit codes for options that are wrong, which no peer is asked about.
func TestWrongOption(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--no-such", "--wrap=true"}, {"-N"}, {"--mem=x", "--wrap=true"}} {
		var out, errs bytes.Buffer
		if code := Sbatch(&host.Host{}, args, &out, &errs); code != 255 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, %q and %q", args, code, out.String(), errs.String())
		}
	}
}
