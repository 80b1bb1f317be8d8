package judge

import (
	"fmt"
	"time"
)

// Unused notices GPUs that are held by a job and do nothing. The zero Unused is of a
// GPU that is used, or that nobody holds.
type Unused struct {
	by    string    // who holds it
	since time.Time // of the first of the newest samples that are all 0 %; zero: the newest is not
	last  time.Time // of the newest sample
}

// maxGap is how far apart two samples may be for the time between them to count.
const maxGap = 10 * time.Second

// Next takes the next sample: who holds the GPU then, empty for nobody, and its
// utilization in percent. Another holder begins anew, and so does a time in which
// nothing was measured.
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

// For is for how long the holder has left the GPU at 0 %.
func (u Unused) For() time.Duration { return u.last.Sub(u.since) }

// Warning says that a GPU has been held for nothing for longer than the
// configuration takes for granted; "": it has not.
func (c Config) Warning(u Unused, now time.Time) string {
	if u.since.IsZero() || now.Sub(u.since) < c.Unused {
		return ""
	}
	return fmt.Sprintf("held by a job and at 0 %% since %s", u.since.UTC().Format(time.RFC3339))
}
