package root

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// allocateAPI queues every allocation, which then comes to an end.
func allocateAPI(t *testing.T, end string) (f *fakeAPI, asked *wire.Allocate) {
	f, asked = &fakeAPI{}, &wire.Allocate{}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /gpu/allocate", func(w http.ResponseWriter, r *http.Request) {
		*asked = wire.Allocate{}
		if err := json.NewDecoder(r.Body).Decode(asked); err != nil {
			t.Error(err)
		}
		answer(w, wire.Allocated{Success: true, Status: "queued", AllocationID: "web-1"})
	})
	mux.HandleFunc("GET /gpu/allocations/web-1", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, wire.ServiceAllocation{ID: "web-1", Status: end, NodeID: "n1", GPUIDs: []int64{0, 3}})
	})
	mux.HandleFunc("GET /whoami", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, wire.Whoami{Authentication: true, Name: "ann"})
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f, asked
}

// The exit code of a wait for GPUs shows whether they came.
func TestAllocateWaits(t *testing.T) {
	f, _ := allocateAPI(t, "allocated")
	if code, out, errs := f.berth(t, "allocate", "web", "--wait"); code != 0 || out != "Allocated web-1: GPUs 0,3 of n1\n" {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	f, _ = allocateAPI(t, "released")
	if code, out, errs := f.berth(t, "allocate", "web", "--wait"); code == 0 || !strings.Contains(errs, "web-1") || !strings.Contains(errs, "released") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}

// A token says whose an allocation is.
func TestWhoseAnAllocationIs(t *testing.T) {
	f, asked := allocateAPI(t, "allocated")
	t.Setenv("BERTH_TOKEN", "")
	t.Setenv("RESEARCH_AGENT_USER_AUTH_TOKEN", "")
	if code, _, errs := f.berth(t, "allocate", "web"); code != 0 || asked.User != cli.ThisUser() {
		t.Errorf("exit code %d, %s, in the name of %q", code, errs, asked.User)
	}
	t.Setenv("BERTH_TOKEN", "berth_x")
	if code, _, errs := f.berth(t, "allocate", "web"); code != 0 || asked.User != "ann" {
		t.Errorf("exit code %d, %s, in the name of %q", code, errs, asked.User)
	}
}
