package meter

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const alerts = "../../deploy/prometheus/berth-alerts.yml"

// rule is an alert.
type rule struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func rulesOf(t *testing.T) (out []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	text, err := os.ReadFile(alerts)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil || len(file.Groups) != 1 {
		t.Fatalf("%d groups, %v", len(file.Groups), err)
	}
	return file.Groups[0].Rules
}

// whole is the series of a peer of a sound cluster, with a value for each minute.
func whole() map[string]string {
	const host, gpu = `node="g1"`, `node="g1", gpu="0", uuid="u"`
	return map[string]string{
		"up{}": "1x300", "berth_raft_is_leader{}": "1x300", "berth_raft_voters{}": "3x300", "berth_raft_has_vote{}": "1x300", "berth_raft_last_contact_seconds{}": "0x300", "berth_peer_clocks_agree{}": "1x300",
		`berth_peer_clock_offset_seconds{peer="p2"}`: "0.1x300", "berth_placements_running{}": "1x300", "berth_node_up{" + host + "}": "1x300", "berth_node_degraded{" + host + "}": "0x300",
		"berth_certificate_expiry_timestamp_seconds{}": "7776000x300", `berth_member_certificate_expiry_timestamp_seconds{role="node", member="g1"}`: "7776000x300",
		"berth_backup_newest_timestamp_seconds{}": "1+60x300", "berth_backup_interval_seconds{}": "3600x300", "berth_backup_failures_total{}": "0x300", "berth_backup_future_files{}": "0x300",
		"gpu_orchestrator_queue_depth{}": "5x300", "gpu_orchestrator_gpus_available{}": "0x300", "berth_webhook_oldest_waiting_seconds{}": "3x300",
		`berth_defects_total{of="decision"}`: "0x300", "berth_gpu_usable{" + gpu + "}": "1x300", "gpu_orchestrator_gpu_temperature_celsius{" + gpu + "}": "70x300",
		"berth_gpu_idle_held_seconds{" + gpu + "}": "0x300",
	}
}

// event is something that happens to cluster a, and the alerts that fire then. Cluster b, in the same Prometheus, is sound throughout.
type event struct {
	name, at string
	series   map[string]string // in place of those of sound peers, by their names and a number of a peer: "up 2"; without a number of all; "-": gone
	fires    map[string]string // the labels of each alert besides cluster and job
}

func events() []event {
	const gpu = `node="g1", gpu="0", uuid="u"`
	gone := func(peers ...string) map[string]string {
		out := map[string]string{}
		for _, p := range peers {
			for name := range whole() { // order-free: a map
				out[name[:strings.Index(name, "{")]+" "+p] = "-"
			}
			out["up "+p] = "0x300"
		}
		return out
	}
	return []event{
		{"nothing", "4h", nil, nil},
		{"one peer of three is dead", "10m", gone("2"), map[string]string{"BerthPeerDown": `instance="a2"`, "BerthToleratesNone": ""}},
		{"one peer of three has no vote yet, and all are up", "10m", map[string]string{"berth_raft_has_vote 3": "0x300", "berth_raft_voters": "2x300"}, map[string]string{"BerthToleratesNone": ""}},
		{"all peers are dead", "10m", gone("1", "2", "3"), map[string]string{"BerthPeerDown": `instance="a1"|instance="a2"|instance="a3"`, "BerthNoLeader": ""}},
		{"no peer leads", "10m", map[string]string{"berth_raft_is_leader": "0x300"}, map[string]string{"BerthNoLeader": ""}},
		{"a peer hears of no leader", "10m", map[string]string{"berth_raft_last_contact_seconds 2": "20x300"}, map[string]string{"BerthPeerOutOfContact": `instance="a2"`}},
		{"the clocks disagree", "10m", map[string]string{"berth_peer_clocks_agree 2": "0x300", "berth_peer_clock_offset_seconds 1": "-5x300"}, map[string]string{"BerthClocksDisagree": "", "BerthClockOff": `instance="a1", peer="p2"`}},
		{"certificates end", "2h", map[string]string{"berth_certificate_expiry_timestamp_seconds 3": "864000x300", "berth_member_certificate_expiry_timestamp_seconds": "864000x300"}, map[string]string{"BerthCertificateExpires": `instance="a3"`, "BerthMemberCertificateExpires": `role="node", member="g1"`}},
		{"no peer makes backups", "2h", map[string]string{"berth_backup_newest_timestamp_seconds": "-", "berth_backup_interval_seconds": "-", "berth_backup_failures_total": "-", "berth_backup_future_files": "-"}, map[string]string{"BerthNoBackups": ""}},
		{"no backup could be made", "3h", map[string]string{"berth_backup_newest_timestamp_seconds": "0x300", "berth_backup_failures_total 1": "0+1x300"}, map[string]string{"BerthBackupMissing": "", "BerthBackupFailed": `instance="a1"`}},
		{"backups have stopped", "4h", map[string]string{"berth_backup_newest_timestamp_seconds": "600x300"}, map[string]string{"BerthBackupTooOld": ""}},
		{"one peer of those that share a folder has seen none yet", "4h", map[string]string{"berth_backup_newest_timestamp_seconds 2": "0x300"}, nil},
		{"a backup is of the future", "1h", map[string]string{"berth_backup_future_files 1": "2x300"}, map[string]string{"BerthBackupOfTheFuture": ""}},
		{"placements are halted", "1h", map[string]string{"berth_placements_running": "0x300"}, map[string]string{"BerthPlacementsHalted": ""}},
		{"a GPU host is silent", "10m", map[string]string{"berth_node_up": "0x300"}, map[string]string{"BerthNodeSilent": `node="g1"`}},
		{"a GPU host is dead", "1h", map[string]string{"berth_node_up": "0x300"}, map[string]string{"BerthNodeSilent": `node="g1"`, "BerthNodeDead": `node="g1"`}},
		{"a GPU host cannot start jobs", "10m", map[string]string{"berth_node_degraded": "1x300"}, map[string]string{"BerthNodeDegraded": `node="g1"`}},
		{"a GPU is bad, hot and held idle", "10m", map[string]string{"berth_gpu_usable": "0x300", "gpu_orchestrator_gpu_temperature_celsius": "90x300", "berth_gpu_idle_held_seconds": "2000x300"}, map[string]string{"BerthGPUUnusable": gpu, "BerthGPUHot": gpu, "BerthGPUHeldIdle": gpu}},
		{"jobs and webhooks wait", "1h", map[string]string{"gpu_orchestrator_queue_depth": "200x300", "berth_webhook_oldest_waiting_seconds": "4000x300"}, map[string]string{"BerthBacklog": "", "BerthWebhooksBehind": ""}},
		{"a defect", "10m", map[string]string{"berth_defects_total 1": "0+1x300"}, map[string]string{"BerthDefect": `of="decision"`}},
	}
}

// values are the series of the two clusters during an event.
func (e *event) values() []string {
	var out []string
	for _, cluster := range []string{"a", "b"} {
		for _, p := range []string{"1", "2", "3"} {
			for name, value := range whole() { // order-free: sorted below
				metric, labels, _ := strings.Cut(name, "{")
				if metric == "berth_raft_is_leader" && p != "1" {
					value = "0x300"
				}
				if cluster == "a" {
					if v := e.series[metric]; v != "" {
						value = v
					}
					if v := e.series[metric+" "+p]; v != "" {
						value = v
					}
				}
				if value != "-" {
					labels = strings.TrimPrefix(", "+strings.TrimSuffix(labels, "}"), ", }")
					out = append(out, fmt.Sprintf(`{series: '%s{cluster="%s", job="berth", instance="%s%s"%s}', values: '%s'}`, metric, cluster, cluster, p, strings.TrimSuffix(labels, ", "), value))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// Each alert fires when what it is for has happened, with the labels of its cluster, and for nothing else.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing: apt-get install prometheus")
	}
	rules, path := rulesOf(t), filepath.Join(t.TempDir(), "rules.yml")
	// The texts are in the file that is shipped; here they would have to be written a second time.
	short, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "berth", "rules": withoutTexts(t)}}})
	if err == nil {
		err = os.WriteFile(path, short, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	fired := map[string]bool{}
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%s]\nevaluation_interval: 1m\ntests:\n", path)
	test := func(at string, fires map[string]string, more string) {
		b.WriteString("    alert_rule_test:\n")
		for _, r := range rules {
			labels, is := fires[r.Alert]
			fmt.Fprintf(&b, "      - eval_time: %s\n        alertname: %s\n", at, r.Alert)
			if !is {
				b.WriteString("        exp_alerts: []\n")
				continue
			}
			fired[r.Alert] = true
			b.WriteString("        exp_alerts:\n")
			for one := range strings.SplitSeq(labels, "|") {
				all := strings.Trim(strings.ReplaceAll(one+", "+more, "=", ": "), ", ")
				fmt.Fprintf(&b, "          - exp_labels: {%s}\n", strings.Trim(all+", severity: "+r.Labels["severity"], ", "))
			}
		}
	}
	for _, e := range events() {
		fmt.Fprintf(&b, "  - name: %s\n    interval: 1m\n    input_series:\n", e.name)
		for _, v := range e.values() {
			b.WriteString("      - " + v + "\n")
		}
		test(e.at, e.fires, `cluster="a", job="berth"`)
	}
	b.WriteString("  - name: Prometheus scrapes nothing\n    interval: 1m\n    input_series: []\n")
	test("10m", map[string]string{"BerthNotScraped": ""}, "")
	tests := filepath.Join(t.TempDir(), "tests.yml")
	if err := os.WriteFile(tests, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", alerts}, {"test", "rules", tests}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, r := range rules {
		if !fired[r.Alert] {
			t.Errorf("no event of this test fires %s", r.Alert)
		}
	}
}

// withoutTexts returns the rules as they stand in the file, without annotations.
func withoutTexts(t *testing.T) []map[string]any {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []map[string]any }
	}
	text, err := os.ReadFile(alerts)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Groups[0].Rules {
		delete(r, "annotations")
	}
	return file.Groups[0].Rules
}

// A text names only labels that its alert has, and rules keep clusters apart.
func TestAlertsKeepClustersApart(t *testing.T) {
	t.Parallel()
	aggregate := regexp.MustCompile(`\b(max|min|sum|count|avg)\s*(\(|by \(cluster, job)`)
	label := regexp.MustCompile(`\$labels\.(\w+)`)
	for _, r := range rulesOf(t) {
		for _, m := range aggregate.FindAllStringSubmatch(r.Expr, -1) {
			if m[2] == "(" {
				t.Errorf("%s: %q mixes clusters: use %s by (cluster, job)", r.Alert, r.Expr, m[1])
			}
		}
		for _, m := range label.FindAllStringSubmatch(r.Annotations["summary"], -1) {
			if by := strings.Contains(r.Expr, "by ("); by && !regexp.MustCompile(`by \([^)]*\b`+m[1]+`\b`).MatchString(r.Expr) {
				t.Errorf("%s: the text has the label %s, which the alert does not have", r.Alert, m[1])
			}
		}
	}
	if names := slices.Sorted(maps.Keys(whole())); len(names) < 20 {
		t.Errorf("only %d series", len(names))
	}
}
