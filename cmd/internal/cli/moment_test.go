package cli

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

func TestMoments(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 3, 4, 15, 30, 0, 0, zone)
	for text, want := range map[string]string{
		"":                          "",
		"+2h":                       "+7200",
		"now+2h":                    "+7200",
		"now+1hour":                 "+3600",
		"now+3days":                 "+259200",
		"+90":                       "+90",
		"+2weeks":                   "+1209600",
		"16:00":                     "2026-03-04T14:00:00Z",
		"15:30":                     "2026-03-05T13:30:00Z",
		"01:02:03":                  "2026-03-04T23:02:03Z",
		"noon":                      "2026-03-05T10:00:00Z",
		"midnight":                  "2026-03-04T22:00:00Z",
		"Tomorrow":                  "2026-03-04T22:00:00Z",
		"today":                     "2026-03-03T22:00:00Z",
		"now":                       "2026-03-04T13:30:00Z",
		"2026-12-24":                "2026-12-23T22:00:00Z",
		"2026-12-24T18:00":          "2026-12-24T16:00:00Z",
		"2026-12-24 18:00:05":       "2026-12-24T16:00:05Z",
		"2026-12-24T18:00:05Z":      "2026-12-24T18:00:05Z",
		"2026-12-24T18:00:05-05:00": "2026-12-24T23:00:05Z",
	} {
		if got, err := Moment("--begin", text, now); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "+", "+x", "now-1h", "25:00", "2026-13-01", "+5fortnights", "+99999999weeks"} {
		if got, err := Moment("--begin", text, now); cmdline.ExitCode(err) != cmdline.ExitUsage {
			t.Errorf("%q was read as %q (%v)", text, got, err)
		}
	}
}
