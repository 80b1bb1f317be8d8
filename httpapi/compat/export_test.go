package compat_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Peers whose wall clocks differ export the same of the same state.
func TestExportsGoByTheStatesClock(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for range 3 {
		s.Submit(`{"command":"x","run_id":"r","gpu_count":2}`).Into(new(wire.Submitted))
	}
	s.Do(http.MethodPost, "/gpu/allocate", `{"service_name":"web","gpu_count":1}`).Into(new(wire.Allocated))
	s.With(func(c *statetest.Cluster) {
		c.Node("n1", 4)
		a := c.Place(1)
		c.Start(a)
		c.Wait(time.Minute)
		c.Exit(a, 0)
		c.Start(c.Place(2))
		c.Wait(time.Minute)
	})
	text := func() string {
		raw, err := json.Marshal(export(s))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	was := text()
	if !strings.Contains(was, `"jobs_per_hour":1`) || !strings.Contains(was, `"run_seconds":60`) {
		t.Errorf("the export is %s", was)
	}
	at := s.Now().Add(2 * time.Hour)
	s.API.Config.Now = func() time.Time { return at }
	if is := text(); is != was {
		t.Errorf("an export two hours later is\n%s\nand was\n%s", is, was)
	}
	var stats wire.Statistics
	if s.Do(http.MethodGet, "/queue/statistics", "").Into(&stats); stats.JobsPerHour != 1 {
		t.Errorf("%v jobs an hour", stats.JobsPerHour)
	}
}
