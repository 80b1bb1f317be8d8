package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Ended jobs are a table that a person can read, and csv for programs.
func TestShowEnded(t *testing.T) {
	code, now := int64(3), time.Now()
	all := &wire.History{ArchiveStanding: wire.ArchiveStanding{CompleteTo: 9}, Jobs: []wire.EndedJob{{
		Job: wire.Job{
			ID: "7", Name: "train\x1b", User: "ann", GPUs: 8, State: "failed", ExitCode: &code, EndedAt: now, WaitSeconds: 61, RunSeconds: 7200,
		}, GPUHours: 16, Efficiency: new(62.5),
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
	if err := (&cli.Report{Connection: cli.Connection{Output: "csv"}}).Write(&out, all, func() [][]string { return endedLines(all.Jobs) },
		nil); err != nil || strings.Count(out.String(), "\n") != 3 || !strings.Contains(out.String(), ",failed,,3,,,") ||
		!strings.Contains(out.String(), "\n5,run-5,bob,") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := showEnded(&out, &wire.History{}); err != nil || !strings.Contains(out.String(), "No ended job matches") {
		t.Errorf("%v: %q", err, out.String())
	}
}
