//berth:bubble

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// pastState has run so many jobs of an hour each on a node of one GPU: all came at once,
// and ran after each other with a pause of an hour between.
func pastState(t *testing.T, jobs int) state.State {
	c := statetest.New(t)
	n := c.Node("n1", 1)
	for range jobs {
		c.Submit(1)
	}
	for job := range jobs {
		c.Wait(time.Hour)
		n.Renew()
		a := c.Place(model.JobID(job + 1))
		c.Start(a)
		c.Wait(time.Hour)
		n.Renew()
		c.Do(n.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankExited, Exit: model.Exit{Ran: time.Hour}}))
		n.Clean()
	}
	return c.State
}

// values lists what is exposed: name, policy, value.
func values(t *testing.T, from prometheus.Gatherer) (out []string) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			out = append(out, fmt.Sprintf("%s %s %g", f.GetName(), m.GetLabel()[0].GetValue(), m.GetGauge().GetValue()))
		}
	}
	return out
}

// What the policy is good for is told as it was and as it would have been in the order
// of arrival, once there was enough, by every peer alike: as of the last full hour.
func TestShadow(t *testing.T) {
	few, enough := pastState(t, shadowLeast-1), pastState(t, shadowLeast+1)
	last, _ := enough.Jobs.Get(shadowLeast)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(last.Ended.Time().Add(shadowEvery))) // the job after it ends in the next hour
		var looked atomic.Int64
		var now atomic.Pointer[state.State]
		now.Store(&few)
		s := &shadow{log: slog.New(slog.DiscardHandler), state: func() state.State {
			looked.Add(1)
			return *now.Load()
		}}
		registry := prometheus.NewRegistry()
		registry.MustRegister(s)
		told := func(what string, want ...string) {
			t.Helper()
			time.Sleep(shadowLook)
			synctest.Wait()
			if got := values(t, registry); !slices.Equal(got, want) {
				t.Errorf("%s: %q", what, got)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.run(ctx)
		told("few have ended")
		now.Store(&enough)
		known := []string{
			"berth_policy_tasks actual 20", "berth_policy_tasks fcfs 20", "berth_policy_utilization_ratio actual 0.5",
			"berth_policy_utilization_ratio fcfs 1", "berth_policy_wait_seconds actual 72000", "berth_policy_wait_seconds fcfs 34200",
		}
		told("enough", known...)
		if n := looked.Load(); n != 2 {
			t.Errorf("looked %d times", n)
		}
		now.Store(&few)
		told("within the hour", known...)
		if n := looked.Load(); n != 2 {
			t.Errorf("looked %d times", n)
		}
	})
}

// The table of metrics names the label that these series have.
func TestShadowIsInTheTableOfMetrics(t *testing.T) {
	table, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"berth_policy_tasks", "berth_policy_wait_seconds", "berth_policy_utilization_ratio"} {
		if !strings.Contains(string(table), "| `"+name+"` | gauge, cluster | policy |") {
			t.Errorf("docs/metrics.md does not say that %s has the label policy", name)
		}
	}
}
