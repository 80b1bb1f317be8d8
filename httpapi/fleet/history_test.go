package fleet_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/fleet"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A node's own answer is passed on, whatever peer is asked; one that is none, or too
// long, is not.
func TestAHistoryIsPassedOn(t *testing.T) {
	s := apitest.New(t)
	asked, next := make(chan string, 1), make(chan string, 1)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RequestURI()
		_, _ = io.WriteString(w, <-next)
	}))
	defer node.Close()
	apitest.Running(s, node.Listener.Addr().String())
	next <- `{"node_id":"liar","step_seconds":10,"steps":6,"gpus":[{"gpu_id":1,"uuid":"g"},{"gpu_id":2,"points":[{"step":3,"power_watts":70}]}]}`
	got := &wire.NodeHistory{}
	s.Do(http.MethodGet, "/nodes/n1/gpus/history?minutes=1&steps=6", "").Into(got)
	if uri := <-asked; uri != "/node/gpus/history?minutes=1&steps=6" {
		t.Errorf("the node was asked %s", uri)
	}
	if got.Node != "n1" || got.StepSeconds != 10 || len(got.GPUs) != 2 || got.GPUs[0].Points == nil || got.GPUs[1].Points[0].Step != 3 {
		t.Errorf("%+v", got)
	}
	for _, broken := range []string{"", "no JSON", `{"gpus":[` + strings.Repeat("[", fleet.MaxHistory)} {
		next <- broken
		s.Do(http.MethodGet, "/nodes/n1/gpus/history", "").Problem(http.StatusBadGateway, wire.CodeUnreachable)
		if uri := <-asked; uri != "/node/gpus/history?minutes=15&steps=60" {
			t.Errorf("the node was asked %s", uri)
		}
	}
	node.Close()
	s.Do(http.MethodGet, "/nodes/n1/gpus/history", "").Problem(http.StatusBadGateway, wire.CodeUnreachable)
	s.Do(http.MethodGet, "/nodes/n2/gpus/history", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/nodes/n1/gpus/history?steps=181", "").About("steps")
	s.Do(http.MethodGet, "/nodes/n1/gpus/history?minutes=16", "").About("minutes")
}
