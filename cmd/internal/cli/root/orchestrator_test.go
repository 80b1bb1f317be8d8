package root

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// The orchestrator is stopped and started by commands, which tell what follows.
func TestOrchestrator(t *testing.T) {
	running := true
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orchestrator/{way}", func(w http.ResponseWriter, r *http.Request) {
		running = r.PathValue("way") == "start"
		fmt.Fprintf(w, `{"success":true,"running":%t,"message":"so it is"}`, running)
	})
	mux.HandleFunc("GET /orchestrator/status", func(w http.ResponseWriter, _ *http.Request) {
		o := wire.Orchestrator{
			Running: running, Policy: "fcfs", Leader: "p2", QueueSummary: wire.QueueSummary{Queued: 5, Running: 2},
			ResourceSummary: wire.Resources{TotalGPUs: 8, AvailableGPUs: 3, AllocatedGPUs: 4, UnhealthyGPUs: 1},
		}
		if err := json.NewEncoder(w).Encode(o); err != nil {
			t.Error(err)
		}
	})
	f := &fakeAPI{Server: httptest.NewServer(mux)}
	t.Cleanup(f.Close)
	for _, v := range []struct{ line, says string }{
		{"orchestrator", "Orchestrator jobs are started\nPolicy       fcfs\nLeader       p2\n" +
			"GPUs         3 of 8 are free, 4 in use, 1 unhealthy\nJobs         5 queued, 2 running"},
		{"orchestrator stop", "Orchestrator: so it is\n"},
		{"orchestrator", "Orchestrator stopped: no jobs are started"},
		{"orchestrator start -o json", `"running": true`},
		{"orchestrator -o json", `"running": true`},
	} {
		if code, out, errs := f.berth(t, strings.Fields(v.line)...); code != 0 || !strings.Contains(out, v.says) {
			t.Errorf("%s: exit code %d, %s%s\nwant %s", v.line, code, out, errs, v.says)
		}
	}
	if code, _, errs := f.berth(t, "orchestrator", "pause"); code != cmdline.ExitUsage || !running {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// The command that explanations name exists.
func TestTheNamedCommandExists(t *testing.T) {
	if cmd, rest, err := whole(t).Find([]string{"orchestrator", "start"}); err != nil || len(rest) > 0 || cmd.CommandPath() != "berth orchestrator start" {
		t.Errorf("%v, %q left, %v", cmd.CommandPath(), rest, err)
	}
}
