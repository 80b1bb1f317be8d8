package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// marker is a job that writes down each start and each end of its process.
const marker = `mark() { printf '%s %s %s\n' "$BERTH_JOB_ID" "$BERTH_ATTEMPT" "$1" >> "$MARKS"; }
trap 'mark end; exit 143' TERM
mark start
sleep "$SECONDS_TO_RUN" & wait $!
mark end
exit "$EXIT_WITH"`

// marked is a job of one GPU that runs for so many seconds and exits with a code.
func marked(file, seconds string, code int) *wire.Submit {
	one := int64(1)
	return &wire.Submit{
		User: "alice", Command: marker, GPUs: &one,
		Env: map[string]string{"MARKS": file, "SECONDS_TO_RUN": seconds, "EXIT_WITH": fmt.Sprint(code)},
	}
}

// marksFile is a new file for marks.
func marksFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "marks")
}

// life is what a job's processes have written down.
type life struct{ starts, ends int }

// readMarks counts starts and ends by job and attempt.
func readMarks(t *testing.T, path string) map[string]map[int]life {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	out := map[string]map[int]life{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var id, what string
		var attempt int
		if _, err := fmt.Sscan(lines.Text(), &id, &attempt, &what); err != nil {
			t.Fatalf("a mark cannot be read: %q", lines.Text())
		}
		if out[id] == nil {
			out[id] = map[int]life{}
		}
		l := out[id][attempt]
		if what == "start" {
			l.starts++
		} else {
			l.ends++
		}
		out[id][attempt] = l
	}
	return out
}

// mustRunOnce insists that a job ran once, from start to end, in its first attempt.
func mustRunOnce(t *testing.T, marks map[string]map[int]life, id string) {
	t.Helper()
	if got := marks[id]; len(got) != 1 || got[1] != (life{1, 1}) {
		t.Errorf("job %s has the marks %v, want one start and one end in attempt 1", id, got)
	}
}
