package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Pages are asked for until there are as many as are wanted, or no more.
func TestPages(t *testing.T) {
	for limit, want := range map[int]string{0: "[1000 1000 1000]", 1500: "[1000 500]", 3: "[3]", 9000: "[1000 1000 1000]"} {
		var asked []int
		have := 0
		err := (&report{limit: limit}).pages(func(most int) (int, bool, error) {
			asked = append(asked, most)
			have += min(most, 2200-have)
			return have, have < 2200, nil
		})
		if err != nil || fmt.Sprint(asked) != want {
			t.Errorf("for %d it asks for %v, %v; want %s", limit, asked, err, want)
		}
	}
	if err := (&report{}).pages(func(int) (int, bool, error) { return 0, true, io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("a page that fails: %v", err)
	}
}

// Ended jobs and use are tables that a person can read, and csv for programs.
func TestShowEndedAndUsage(t *testing.T) {
	code, now := int64(3), time.Now()
	all := &wire.History{ArchiveStanding: wire.ArchiveStanding{CompleteTo: 9}, Jobs: []wire.EndedJob{{
		Job: wire.Job{
			ID: "7", Name: "train\x1b", User: "ann", GPUs: 8, State: "failed", ExitCode: &code, EndedAt: now, WaitSeconds: 61, RunSeconds: 7200,
		}, GPUHours: 16, Efficiency: percent(62.5),
	}, {Job: wire.Job{ID: "5", RunID: "run-5", User: "bob", State: "canceled", EndedAt: now}}}}
	var out strings.Builder
	if err := showEnded(&out, all); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "GPU-H") || strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("%s", out.String())
	}
	if got := strings.Join(strings.Fields(lines[1])[5:], " "); !strings.HasSuffix(got, "1m1s 2h0m 16.0 62") && !strings.HasSuffix(got, "16.0 62") {
		t.Errorf("job 7 is %q", lines[1])
	}
	out.Reset()
	if err := (&report{connection: connection{output: "csv"}}).write(&out, all, func() [][]string { return endedLines(all.Jobs) }, nil); err != nil || strings.Count(out.String(), "\n") != 3 || !strings.Contains(out.String(), ",failed,,3,,,") ||
		!strings.Contains(out.String(), "\n5,run-5,bob,") {
		t.Errorf("%v\n%s", err, out.String())
	}
	u := &wire.Usage{By: []string{"project", "user"}, GPUs: 16, Since: now.Add(-time.Hour), Until: now, Rows: []wire.UsageRow{
		{User: "ann", Project: "vision", GPUHours: 12.34, Share: 80, OfCluster: 77.1, Measured: 10, Idle: 2.5, Jobs: 4, WaitMedian: percent(30), GPUs: 8},
		{User: "bob", GPUHours: 0.004, Jobs: 1, Failed: 1},
	}}
	out.Reset()
	if err := showUsage(&out, u); err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(out.String(), "\n")
	for i, want := range []string{"PROJECT USER GPU-H", "vision ann 12.3 80.0% 77.1% 2.5 0.0 4 0 0", "- bob 0.004 0.0%", "all", "From "} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	out.Reset()
	if err := (&report{connection: connection{output: "csv"}}).write(&out, u, func() [][]string { return usageLines(u) }, nil); err != nil || !strings.Contains(out.String(), "vision,ann,12.34,80,77.1,10,2.5,0,4,0,0,30,,8\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, v := range []struct {
		show func() error
		want string
	}{
		{func() error { return showEnded(&out, &wire.History{}) }, "No ended job matches"},
		{func() error { return showUsage(&out, &wire.Usage{}) }, "No GPU was used"},
		{func() error { return showArchive(&out, &wire.ArchiveStanding{}) }, "not yet got"},
		{func() error { return showArchive(&out, &wire.ArchiveStanding{CompleteTo: 1, Failing: true}) }, "cannot be written"},
	} {
		out.Reset()
		if err := v.show(); err != nil || !strings.Contains(out.String(), v.want) {
			t.Errorf("%v: %q", err, out.String())
		}
	}
}
