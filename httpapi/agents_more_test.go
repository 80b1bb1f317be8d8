package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
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
	d.do(http.MethodGet, "/gpu/status", "").into(&status)
	var job wire.Detail
	d.do(http.MethodGet, "/jobs/1", "").into(&job)
	if status.Nodes[0].GPUs[0].Warning != sample.Warning || len(job.Warnings) != 1 || !strings.Contains(job.Warnings[0], "at 0 %") {
		t.Errorf("told are %q and %q", status.Nodes[0].GPUs[0].Warning, job.Warnings)
	}
}

// A peer that is asked whether anybody leads speaks for itself, also when it is no
// leader.
func TestSilenceIsAPeersOwnWord(t *testing.T) {
	d := newDay(t)
	l := d.leader
	l.ID, l.Self, l.Address = "p9", false, "127.0.0.1:1"
	d.lead(l)
	got, err := d.a.Silence(t.Context(), strings.TrimPrefix(d.url, "http://"))
	if err != nil || got.Peer != "p1" || got.For != 7*time.Second || len(got.Voters) != 2 {
		t.Errorf("said %+v, %v", got, err)
	}
	if _, err := d.a.Silence(t.Context(), "127.0.0.1:1"); err == nil {
		t.Error("a peer that is not there was spoken for")
	}
}
