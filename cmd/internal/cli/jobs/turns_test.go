package jobs

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

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
