package judge

import (
	"fmt"
	"time"
)

// Unused detects GPUs that are held by a job and idle. The zero Unused is of a GPU that is in use, or free.
type Unused struct {
	by    string    // the holder
	since time.Time // of the first of the newest samples that are all 0 %; zero: the newest is not
	last  time.Time // of the newest sample
}

// maxGap is how far apart two samples may be for the time between them to count.
const maxGap = 10 * time.Second

// Next applies the next sample: the holder of the GPU then, empty for none, and its utilization in percent. A
// change of the holder restarts the count, and so does a gap in the measurements.
func (u Unused) Next(now time.Time, holder string, utilization uint8) Unused {
	switch {
	case holder == "" || utilization > 0:
		return Unused{}
	case u.since.IsZero() || u.by != holder || now.Sub(u.last) > maxGap:
		u = Unused{by: holder, since: now}
	}
	u.last = now
	return u
}

// For returns for how long the holder has left the GPU at 0 %.
func (u Unused) For() time.Duration { return u.last.Sub(u.since) }

// Warning returns the warning about a GPU that has been held idle for longer than configured; "": none.
func (c Config) Warning(u Unused, now time.Time) string {
	if u.since.IsZero() || now.Sub(u.since) < c.Unused {
		return ""
	}
	return fmt.Sprintf("held by a job and at 0 %% since %s", u.since.UTC().Format(time.RFC3339))
}
