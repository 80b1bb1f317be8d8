package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// A queue goes from files through an import, during which the leader is killed, into an
// export: every job comes once.
func TestAnImportOutlivesItsLeader(t *testing.T) {
	c := start(t, "--nodes", "0")
	const jobs = 6000
	var list []string
	for i := range jobs {
		list = append(list, fmt.Sprintf(`{"id": "old-%d", "runId": "run-%d", "user": "ann", "command": "true", "priority": 2, "requestedGpus": 1}`, i, i))
	}
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	text := `{"queuedJobs": [` + strings.Join(list, ",\n") + `], "statistics": {}}`
	if err := os.WriteFile(filepath.Join(from, "job_queue.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	has(t, c.ok("snapshot", "import", "--json", from, "--dry-run"), "6000 queued")
	done := make(chan said, 1)
	go func() { done <- c.berth("snapshot", "import", "--json", from) }()
	c.until("some jobs have come", func() bool { return c.berth("show", "1").code == 0 })
	c.kill(c.leader())
	if s := <-done; s.code != 0 {
		t.Logf("the import was cut off: %s", s.err)
	}
	c.ready()
	c.ok("snapshot", "import", "--json", from)
	c.ok("snapshot", "export", "--json", to)
	raw, err := os.ReadFile(filepath.Join(to, "job_queue.json"))
	if err != nil {
		t.Fatal(err)
	}
	var queue wire.JobQueueFile
	if err := json.Unmarshal(raw, &queue); err != nil {
		t.Fatal(err)
	}
	if len(queue.Saved.Jobs) != jobs || len(queue.QueuedJobs) != jobs {
		t.Fatalf("%d jobs were exported, %d as queued, want %d", len(queue.Saved.Jobs), len(queue.QueuedJobs), jobs)
	}
	for i, j := range queue.Saved.Jobs {
		if j.ID != fmt.Sprint(i+1) || !strings.Contains(string(j.Request), fmt.Sprintf("run-%d\"", i)) {
			t.Fatalf("job %d is %s: %s", i, j.ID, j.Request)
		}
	}
	again := c.berth("snapshot", "import", "--json", to)
	if again.code == 0 || !strings.Contains(again.err, "not empty") {
		t.Errorf("a second import says %+v", again)
	}
}
