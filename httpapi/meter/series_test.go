package meter_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/meter"
)

// eventful is a site in which everything that metrics tell of has happened.
func eventful(t *testing.T) *apitest.Site {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		n := c.Node("n1", 4)
		run := func(e model.Exit, wait time.Duration) {
			job := c.Submit(2)
			c.Wait(wait)
			a := c.Place(job)
			c.Start(a)
			c.Do(n.Report(model.Progress{Rank: a.Rank(0), Phase: model.RankExited, Exit: e}))
			n.Clean()
		}
		for range 4 {
			run(model.Exit{Ran: 20 * time.Minute}, 10*time.Second)
		}
		run(model.Exit{Ran: time.Minute, Code: 1}, time.Second)
		c.Start(c.Place(c.Submit(1)))
		for _, id := range []model.AllocationID{"a", "b"} {
			c.Do(&command.Allocate{ID: id, Service: "ocr", User: "eve", Class: model.ClassNormal, Priority: 5, GPUs: 1})
		}
		c.Wait(30 * time.Second)
		c.Do(&command.Grant{
			ID: "a", Decided: c.State.Index,
			Placement: command.Placement{Node: "n1", Epoch: n.Epoch(), Slots: []model.SlotKey{{GPU: "n1-3"}}},
		})
		c.Submit(4)
	})
	s.API.Peer.Telemetry.Put("n1", []model.Sample{
		{GPU: "n1-0", Utilization: 93, MemoryUsedMB: 70123, Temperature: 71, PowerWatts: 650, Unused: 7 * time.Second},
	})
	s.Do(http.MethodGet, "/queue", "")
	s.Do(http.MethodPost, "/orchestrator/start", "")
	s.Submit(`{"command": ""}`)
	return s
}

// Every series that was asked for is there, and moved by an event that is real.
func TestSeriesMove(t *testing.T) {
	text := string(eventful(t).Do(http.MethodGet, "/metrics", "").Body)
	const gpu = `{gpu="0",model="H200",node="n1",uuid="n1-0"}`
	for _, line := range []string{
		"berth_certificate_expiry_timestamp_seconds 2e+09",
		`gpu_orchestrator_allocations_total{service="ocr",status="queued"} 2`, `gpu_orchestrator_allocations_total{service="ocr",status="allocated"} 1`,
		`gpu_orchestrator_allocations_total{service="jobs",status="allocated"} 6`, "gpu_orchestrator_allocations_active 2",
		"gpu_allocator_gpus_allocated_total 2", "gpu_orchestrator_queue_depth 2", "gpu_orchestrator_gpus_total 4", "gpu_orchestrator_gpus_available 2",
		"gpu_scheduler_queue_wait_seconds_count 7", `gpu_scheduler_queue_wait_seconds_bucket{le="15"} 6`, `gpu_scheduler_queue_wait_seconds_bucket{le="60"} 7`,
		`gpu_scheduler_scheduled_total{status="scheduled"} 7`, `gpu_scheduler_scheduled_total{status="completed"} 4`, `gpu_scheduler_scheduled_total{status="failed"} 1`,
		"gpu_orchestrator_gpu_utilization_percent" + gpu + " 93", "gpu_orchestrator_gpu_memory_used_mb" + gpu + " 70123",
		"gpu_orchestrator_gpu_memory_total_mb" + gpu + " 144384", "gpu_orchestrator_gpu_temperature_celsius" + gpu + " 71",
		"gpu_orchestrator_gpu_power_draw_watts" + gpu + " 650", "berth_gpu_idle_held_seconds" + gpu + " 7", "berth_gpu_allocated" + gpu + " 1",
		`gpu_orchestrator_http_requests_total{code="200",route="/queue"} 1`, `gpu_orchestrator_http_requests_total{code="422",route="/queue/submit"} 1`,
		`gpu_orchestrator_http_request_duration_seconds_count{route="/queue"} 1`,
		`berth_attempt_run_seconds_bucket{end="completed",le="1800"} 4`, `berth_attempt_run_seconds_count{end="failed"} 1`,
		"berth_gpu_used_seconds_total 9720", "berth_gpu_wasted_seconds 120", `berth_leader_info{leader="p1"} 1`, "berth_nodes_silent 0",
		`berth_user_gpus{user="eve"} 1`, `berth_prediction_attempts_total{source="history"} 2`, "berth_sched_passes 4", `berth_defects_total{of="command"} 1`, `berth_defects_total{of="decision"} 2`, `berth_defects_total{of="state"} 3`, `berth_proposals_total{kind="set_running",outcome="ok"} 1`, "berth_placements_running 1",
		`berth_raft_refused_messages_total{reason="malformed"} 5`, `berth_raft_refused_messages_total{reason="foreign"} 6`,
		"berth_raft_busy_heartbeats_total 4",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			t.Errorf("no line %s; there is %q", line, regexp.MustCompile("(?m)^"+name+".*$").FindAllString(text, 6))
		}
	}
}

// asked are the owner's names that go against Prometheus' conventions, and stay.
func asked() []string {
	return []string{
		"gpu_allocator_gpus_allocated_total",   // a gauge in spite of _total
		"gpu_orchestrator_gpus_total",          // a gauge, likewise
		"gpu_orchestrator_gpu_memory_used_mb",  // no base unit
		"gpu_orchestrator_gpu_memory_total_mb", // no base unit
	}
}

func names(t *testing.T, s *apitest.Site) []string {
	t.Helper()
	all, err := prometheus.Gatherers{s.API.Meter.Registry, s.API.Meter.Named}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range all {
		out = append(out, f.GetName())
	}
	return out
}

// What is exposed follows Prometheus' conventions, but for the owner's names.
func TestSeriesAreClean(t *testing.T) {
	all, err := eventful(t).API.Meter.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(all).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !slices.Contains(asked(), p.Metric) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// Users beyond the first count as other.
func TestUsersAreBounded(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) {
		for i := range meter.MaxUsers + 7 {
			c.Submit(1, func(b *command.Submit) { b.Spec.User = fmt.Sprintf("user-%d", i) })
		}
		c.Submit(1, func(b *command.Submit) { b.Spec.User = tally.Other })
	})
	text := string(s.Do(http.MethodGet, "/metrics", "").Body)
	if n := strings.Count(text, "\nberth_user_queued_tasks{"); n > meter.MaxUsers+1 || !strings.Contains(text, `berth_user_queued_tasks{user="other"} 9`) {
		t.Errorf("%d users", n)
	}
}

// series finds the names of Berth's series in an expression.
func series(expression string) (out []string) {
	for _, name := range regexp.MustCompile(`\b(?:berth|gpu)_[a-z_]+`).FindAllString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(expression, ""), -1) {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		out = append(out, name)
	}
	return out
}

func TestSeries(t *testing.T) {
	for expression, want := range map[string][]string{
		`max by (gpu, uuid) (berth_a) > 1 and rate(gpu_b_bucket{x="berth_c"}[5m])`: {"berth_a", "gpu_b"},
		"1": nil,
	} {
		if got := series(expression); !slices.Equal(got, want) {
			t.Errorf("%s: %v", expression, got)
		}
	}
}

// What alerts and the board ask for is there.
func TestAlertsAndBoard(t *testing.T) {
	// Those of backups are a peer's that makes some: cmd/internal/cli/backups.
	there := append(names(t, eventful(t)), "berth_backup_newest_timestamp_seconds", "berth_backup_interval_seconds", "berth_backup_failures_total", "berth_backup_future_files",
		"berth_member_certificate_expiry_timestamp_seconds") // of members with certificates
	check := func(where, expression string) {
		found := series(expression)
		if len(found) == 0 && !strings.Contains(expression, "up{") { // up is Prometheus's own
			t.Errorf("%s: %q names no series", where, expression)
		}
		for _, name := range found {
			if !slices.Contains(there, name) {
				t.Errorf("%s: there is no series %s", where, name)
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(file(t, "../../deploy/prometheus/berth-alerts.yml"), &rules); err != nil || len(rules.Groups) == 0 {
		t.Fatal(err)
	}
	for _, r := range rules.Groups[0].Rules {
		check(r.Alert, r.Expr)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(file(t, "../../deploy/grafana/berth.json"), &board); err != nil || len(board.Panels) < 5 {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
			if strings.Count(target.Expr, `{cluster=~"$cluster", job=~"$job"}`) != len(series(target.Expr)) {
				t.Errorf("%s: %q mixes clusters", p.Title, target.Expr)
			}
		}
	}
}

// The reference lists every series, and none that is not there.
func TestSeriesAreDescribed(t *testing.T) {
	there := map[string]bool{
		"berth_policy_tasks": true, "berth_policy_wait_seconds": true, "berth_policy_utilization_ratio": true, "berth_gossip_members": true,
		"berth_backup_newest_timestamp_seconds": true, "berth_backup_interval_seconds": true, "berth_backup_failures_total": true, "berth_backup_future_files": true,
		"berth_member_certificate_expiry_timestamp_seconds": true,
	}
	for _, name := range names(t, eventful(t)) {
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			there[name] = true
		}
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)").FindAllStringSubmatch(string(file(t, "../../docs/metrics.md")), -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(there)); !slices.Equal(listed, want) {
		t.Errorf("docs/metrics.md lists\n%q, there are\n%q", listed, want)
	}
}

func file(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
