package main

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/build"
)

func TestCommandLines(t *testing.T) {
	for line, c := range map[string]struct {
		code      int
		out, says string
	}{
		"version":                {0, "berth-supervisor " + build.Version() + "\n", ""},
		"":                       {2, "", "agents start it"},
		"supervise":              {2, "", "agents start it"},
		"supervise a b":          {2, "", "agents start it"},
		"run a":                  {2, "", "agents start it"},
		"supervise /no/such/dir": {1, "", "/no/such/dir"},
	} {
		var stdout, stderr strings.Builder
		code := run(strings.Fields(line), &stdout, &stderr)
		if code != c.code || stdout.String() != c.out || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%q: exit code %d, out %q, says %q", line, code, stdout.String(), stderr.String())
		}
	}
}
