package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What makes no sense is refused before any peer is asked.
func TestRefusedCommandLines(t *testing.T) {
	for line, says := range map[string]string{
		"submit --array= -- x":                      "--array is empty",
		"submit --after= -- x":                      "--after is empty",
		"submit --begin= -- x":                      "--begin is empty",
		"submit --begin +400d -- x":                 "at most 366 days ahead",
		"submit --dry-run --parsable -- x":          "--parsable",
		"submit -g :2 -- x":                         "--gpus \":2\" has no model before the colon: write 2 for any model, or a model such as H100:2",
		"policy --set depth=5 --set depth=6":        "given twice",
		"quota pool hybrid --ratio x":               "must be a number",
		"reserve -g abc --start now --duration 1h":  "must be a number",
		"reserve --nodes n[1 --duration 1h":         "--nodes",
		"quota set user ann --max-run-time -5m":     "not be negative",
		"reserve limits --percent 10x --longest 1d": "must be a number",
	} {
		var out, wrong bytes.Buffer
		args := append(strings.Fields(line), "--address", "127.0.0.1:1")
		if before, after, dashed := strings.Cut(line, " -- "); dashed {
			args = append(append(strings.Fields(before), "--address", "127.0.0.1:1", "--"), after)
		}
		if code := run(args, &out, &wrong); code != cli.ExitUsage || !strings.Contains(wrong.String(), says) || strings.Contains(wrong.String(), "strconv") {
			t.Errorf("%s: %d, %s", line, code, wrong.String())
		}
	}
}

// An estimate beyond the deadline is a warning.
func TestLate(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hour := wire.Duration(time.Hour)
	for _, v := range []struct {
		begin, deadline string
		estimate        *wire.Duration
		want            time.Duration
	}{
		{"", "+60", &hour, 59 * time.Minute},
		{"", "+7200", &hour, 0},
		{"+5400", "2026-01-01T02:00:00Z", &hour, 30 * time.Minute},
		{"", "", &hour, 0},
		{"", "+60", nil, 0},
	} {
		if got := late(&wire.Submit{Begin: v.begin, Deadline: v.deadline, Estimate: v.estimate}, now); got != v.want {
			t.Errorf("%+v: %s", v, got)
		}
	}
}
