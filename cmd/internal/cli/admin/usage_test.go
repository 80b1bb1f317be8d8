package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Use is a table that a person can read, and csv for programs.
func TestShowUsage(t *testing.T) {
	now := time.Now()
	u := &wire.Usage{By: []string{"project", "user"}, GPUs: 16, Since: now.Add(-time.Hour), Until: now, Rows: []wire.UsageRow{
		{User: "ann", Project: "vision", GPUHours: 12.34, Share: 80, OfCluster: 77.1, Measured: 10, Idle: 2.5, Jobs: 4, WaitMedian: new(30.0), GPUs: 8},
		{User: "bob", GPUHours: 0.004, Jobs: 1, Failed: 1},
	}}
	var out strings.Builder
	if err := showUsage(&out, u); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"PROJECT USER GPU-H", "vision ann 12.3 80.0% 77.1% 2.5 0.0 4 0 0", "- bob 0.004 0.0%", "all", "From "} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
	out.Reset()
	if err := (&cli.Report{Connection: cli.Connection{Output: "csv"}}).Write(&out, u, func() [][]string { return usageLines(u) },
		nil); err != nil || !strings.Contains(out.String(), "vision,ann,12.34,80,77.1,10,2.5,0,4,0,0,30,,8\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := showUsage(&out, &wire.Usage{}); err != nil || !strings.Contains(out.String(), "No GPU was used") {
		t.Errorf("%v: %q", err, out.String())
	}
}
