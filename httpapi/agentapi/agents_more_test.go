package agentapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentapi"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What is odd about a GPU is told with it, and with the job that has it.
func TestGPUWarnings(t *testing.T) {
	d := newDay(t)
	d.assigned(t)
	sample := model.Sample{GPU: "GPU-1", Warning: "held by a job and at 0 %"}
	renew := &agentwire.Renew{Node: "n1", Incarnation: d.reg.Incarnation, Epoch: d.reg.Epoch, Seq: 1, Samples: []model.Sample{sample}}
	if _, err := d.a.Renew(t.Context(), renew); err != nil {
		t.Fatal(err)
	}
	var status wire.GPUStatus
	d.Do(http.MethodGet, "/gpu/status", "").Into(&status)
	var job wire.Detail
	d.Do(http.MethodGet, "/jobs/1", "").Into(&job)
	if status.Nodes[0].GPUs[0].Warning != sample.Warning || len(job.Warnings) != 1 || !strings.Contains(job.Warnings[0], "at 0 %") {
		t.Errorf("told are %q and %q", status.Nodes[0].GPUs[0].Warning, job.Warnings)
	}
}

// A peer that is asked whether anybody leads speaks for itself, also when it is no
// leader.
func TestSilenceIsAPeersOwnWord(t *testing.T) {
	d := newDay(t)
	l := d.KnownLeader
	l.ID, l.Self, l.Address = "p9", false, "127.0.0.1:1"
	d.Lead(l)
	got, err := d.a.Silence(t.Context(), strings.TrimPrefix(d.URL, "http://"))
	if err != nil || got.Peer != "p1" || got.For != 7*time.Second || len(got.Voters) != 2 {
		t.Errorf("said %+v, %v", got, err)
	}
	if _, err := d.a.Silence(t.Context(), "127.0.0.1:1"); err == nil {
		t.Error("a peer that is not there was spoken for")
	}
}

// Peers make requests to where a node says that it listens: that is where it registers
// from.
func TestANodesAddressIsItsOwn(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		reported, from, want string
		ok                   bool
	}{
		{"127.0.0.1:7", "127.0.0.1", "127.0.0.1:7", true},
		{"10.0.0.7:7", "127.0.0.1", "10.0.0.7:7", true}, // an agent on this host, or a proxy
		{"10.0.0.7:7", "10.0.0.7", "10.0.0.7:7", true},
		{"10.0.0.7:7", "::ffff:10.0.0.7", "10.0.0.7:7", true},
		{"127.0.0.1:7", "10.0.0.7", "", true},
		{"10.0.0.8:7", "10.0.0.7", "", false},
		{"[fd00::8]:7", "10.0.0.7", "", false},
		{"h1:7", "h1", "h1:7", true}, // which the command refuses
		{"", "10.0.0.7", "", true},
	} {
		got, err := agentapi.Reachable(v.reported, v.from)
		if got != v.want || (err == nil) != v.ok {
			t.Errorf("%q from %s: %q, %v", v.reported, v.from, got, err)
		}
	}
}
