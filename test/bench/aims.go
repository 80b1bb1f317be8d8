package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/cluster/figures"
)

// played is the output of berth simulate for a simulation.
type played struct {
	Used  float64 `json:"loaded_utilization_percent"`
	JCT   float64 `json:"avg_jct_seconds"`
	Wait  float64 `json:"max_wait_hours"`
	Worst float64 `json:"worst_tenant_wait_ratio"`
}

func (p played) String() string {
	return fmt.Sprintf("%.1f %% / %s s / %.0f h / %.2f", p.Used, figures.Count(p.JCT), p.Wait, p.Worst)
}

// aim is the required mean of some simulations.
type aim struct {
	what   string
	traces []string
	args   string
	seeds  int // 1 to this number
	aimed  string
	met    func(played) bool
}

// reference is the result of another simulator on a trace under the plain policies, which are
// definitions: average JCT, utilisation while loaded and longest wait, strictly in order, with any
// fitting job and under EASY.
type reference struct {
	trace string
	nodes int
	want  [3]played
}

func references() []reference {
	of := func(jct, used, wait float64) played { return played{Used: used, JCT: 1000 * jct, Wait: wait} }
	return []reference{
		{"itp_thin60_0", 2, [3]played{of(359.1, 81.2, 344), of(112.2, 90.8, 560), of(121.7, 94.6, 196)}},
		{"itp_thin60_1", 2, [3]played{of(291.8, 71.6, 322), of(52.6, 81.5, 588), of(76.9, 87.4, 174)}},
		{"itp_05_10", 2, [3]played{of(266.2, 97.9, 237), of(180.1, 97.1, 344), of(251.3, 99.4, 232)}},
		{"itp_thin20_0", 8, [3]played{of(411.7, 76.1, 264), of(33.4, 88.0, 972), of(45.9, 90.7, 172)}},
		{"itp_cluster08", 8, [3]played{of(272.8, 97.9, 141), of(144.6, 98.2, 321), of(245.0, 99.8, 132)}},
		{"itp_cluster02", 12, [3]played{of(597.9, 80.9, 397), of(137.5, 87.8, 695), of(183.8, 96.9, 196)}},
		{"itp_cluster02", 16, [3]played{of(208.4, 83.3, 139), of(49.8, 92.3, 156), of(56.5, 94.0, 125)}},
		{"muri_trace3", 8, [3]played{of(1053, 90.1, 443), of(520.0, 98.1, 1265), of(455.3, 96.3, 346)}},
		{"muri_trace4", 8, [3]played{of(4239, 95.0, 1854), of(3025, 99.0, 2424), of(2203, 99.4, 1638)}},
	}
}

func near(got, want, within float64) bool { return math.Abs(got-want) <= within*want }

// aims returns all of them.
func aims() (out []aim) {
	for i, mode := range []string{"none", "skip", "easy"} {
		within := []float64{0.01, 0.01, 0.03}[i]
		for _, r := range references() {
			want := r.want[i]
			out = append(out, aim{
				mode,
				[]string{r.trace},
				fmt.Sprintf("--nodes %d --policy fcfs --backfill %s --estimates exact --preempt off --whole-nodes", r.nodes, mode), 1,
				fmt.Sprintf("%.1f %% / %s s / %.0f h within %.0f %%", want.Used, figures.Count(want.JCT), want.Wait, 100*within),
				func(p played) bool {
					return near(p.JCT, want.JCT, within) && near(p.Used, want.Used, within) && near(p.Wait, want.Wait, within)
				},
			})
		}
	}
	for _, v := range []struct {
		trace, policy string
		jct           float64
	}{{"muri_trace3", "srtf", 193082}, {"muri_trace3", "srsf", 185022}, {"muri_trace4", "srtf", 581983}, {"muri_trace4", "srsf", 487167}} {
		out = append(out, aim{
			v.policy,
			[]string{v.trace},
			"--nodes 8 --policy " + v.policy, 1, figures.Count(v.jct) + " s within 2 %",
			func(p played) bool { return near(p.JCT, v.jct, 0.02) },
		})
	}
	pair := []string{"itp_thin60_0", "itp_thin60_1"}
	for _, v := range []struct {
		what, args string
		seeds      int
		want       played
	}{
		{"none preemptible", "--preemptible-fraction 0 --estimates x1..9", 12, played{90, 75_000, 260, 2.5}},
		{"none preemptible, exact", "--preemptible-fraction 0 --estimates exact", 1, played{90, 75_000, 260, 2.5}},
		{"all preemptible", "--preemptible-fraction 1 --estimates x1..9", 12, played{97, 42_000, 225, 2.5}},
		{"all preemptible, knowing nothing", "--preemptible-fraction 1 --estimates none", 1, played{97, 47_000, 240, 2.5}},
		{"30 % not preemptible", "--preemptible-fraction 0.7 --estimates x1..9", 6, played{93, 56_000, 255, 2.5}},
	} {
		want := v.want
		out = append(out, aim{v.what, pair, "--nodes 2 --policy fair_share --restart-cost 60s " + v.args, v.seeds, want.String(), func(p played) bool {
			return p.Used >= want.Used && p.JCT <= want.JCT && p.Wait <= want.Wait && p.Worst <= want.Worst
		}})
	}
	return append(out, aim{
		"all preemptible, 64 GPUs",
		[]string{"itp_thin20_0"},
		"--nodes 8 --policy fair_share --restart-cost 60s --preemptible-fraction 1 --estimates x1..9", 3, "94 %",
		func(p played) bool { return p.Used >= 94 },
	})
}

// measureAims simulates public traces and compares the figures with the aims.
func measureAims(ctx context.Context, s *setup) (*figures.Table, error) {
	if _, err := os.Stat(s.traces); s.traces == "" || err != nil {
		s.say("skipped: -traces %q names no folder of traces", s.traces)
		return nil, nil
	}
	t := &figures.Table{
		Title: "Where the aims stand: utilisation while loaded / average JCT / longest wait / worst tenant over the mean, means of all traces and seeds",
		Head:  []string{"aim", "berth simulate --gpus-per-node 8 --trace ...", "aimed at", "now", ""},
	}
	for _, a := range aims() {
		s.say("%s: %s", a.what, strings.Join(a.traces, ", "))
		got, err := a.play(ctx, s)
		switch {
		case errors.Is(err, os.ErrNotExist):
			t.Add(a.what, a.command(), a.aimed, "skipped: the folder lacks a trace", "")
			continue
		case err != nil:
			return t, err
		}
		verdict := "met"
		if !a.met(got) {
			verdict = "**missed**"
		}
		t.Add(a.what, a.command(), a.aimed, got.String(), verdict)
	}
	return t, nil
}

func (a *aim) command() string {
	text := "`" + strings.Join(a.traces, ".csv`, `") + ".csv`: `" + a.args + "`"
	if a.seeds > 1 {
		text += fmt.Sprintf(", `--seed` 1 to %d", a.seeds)
	}
	return text
}

// play returns the mean of the simulations.
func (a *aim) play(ctx context.Context, s *setup) (mean played, err error) {
	n := float64(len(a.traces) * a.seeds)
	for _, trace := range a.traces {
		path := filepath.Join(s.traces, trace+".csv")
		if _, err := os.Stat(path); err != nil {
			return mean, err
		}
		for seed := range a.seeds {
			args := append([]string{"simulate", "--trace", path, "--gpus-per-node", "8", "--seed", strconv.Itoa(seed + 1), "-o", "json"}, strings.Fields(a.args)...)
			out, err := exec.CommandContext(ctx, s.program, args...).Output() //nolint:gosec // as it was called
			if err != nil {
				return mean, fmt.Errorf("%s %s: %w", s.program, strings.Join(args, " "), err)
			}
			var p played
			if err := json.Unmarshal(out, &p); err != nil {
				return mean, fmt.Errorf("what %s printed: %w", s.program, err)
			}
			mean.Used += p.Used / n
			mean.JCT += p.JCT / n
			mean.Wait += p.Wait / n
			mean.Worst += p.Worst / n
		}
	}
	return mean, nil
}
