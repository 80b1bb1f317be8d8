package judge

import (
	"fmt"
	"time"
)

// Unused notices GPUs that are held by a job and do nothing. The zero Unused is of a
// GPU that is used, or that nobody holds.
type Unused struct {
	since time.Time // of the first of the newest samples that are all 0 %; zero: the newest is not
}

// Next takes the next sample: whether a job holds the GPU then, and its utilization
// in percent.
func (u Unused) Next(now time.Time, held bool, utilization uint8) Unused {
	switch {
	case !held || utilization > 0:
		return Unused{}
	case u.since.IsZero():
		return Unused{since: now}
	}
	return u
}

// Warning says that a GPU has been held for nothing for longer than the
// configuration takes for granted; "": it has not.
func (c Config) Warning(u Unused, now time.Time) string {
	if u.since.IsZero() || now.Sub(u.since) < c.Unused {
		return ""
	}
	return fmt.Sprintf("held by a job and at 0 %% since %s", u.since.UTC().Format(time.RFC3339))
}
