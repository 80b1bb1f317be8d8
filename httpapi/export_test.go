package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Peers whose wall clocks differ export the same of the same state.
func TestExportsGoByTheStatesClock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.submit(`{"command":"x","run_id":"r","gpu_count":2}`).into(new(wire.Submitted))
	}
	s.do(http.MethodPost, "/gpu/allocate", `{"service_name":"web","gpu_count":1}`).into(new(wire.Allocated))
	s.with(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		a := c.Place(1)
		c.Start(a)
		c.Wait(time.Minute)
		c.Exit(a, 0)
		c.Start(c.Place(2))
		c.Wait(time.Minute)
	})
	text := func() string {
		raw, err := json.Marshal(s.export())
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	was := text()
	if !strings.Contains(was, `"jobs_per_hour":1`) || !strings.Contains(was, `"run_seconds":60`) {
		t.Errorf("the export is %s", was)
	}
	at := s.now().Add(2 * time.Hour)
	s.api.Config.Now = func() time.Time { return at }
	if is := text(); is != was {
		t.Errorf("an export two hours later is\n%s\nand was\n%s", is, was)
	}
	var stats wire.Statistics
	if s.do(http.MethodGet, "/queue/statistics", "").into(&stats); stats.JobsPerHour != 1 {
		t.Errorf("%v jobs an hour", stats.JobsPerHour)
	}
}
