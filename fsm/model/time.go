package model

import "time"

// Time is an instant in nanoseconds since 1970-01-01 UTC; 0 means never. Rows
// hold it in place of time.Time, which carries a pointer and a monotonic reading.
type Time int64

// TimeOf converts from time.Time; the zero time.Time gives 0.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixNano())
}

// Time converts to time.Time, in UTC; 0 gives the zero time.Time.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(t)).UTC()
}

// Add returns t later by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns the time from o to t.
func (t Time) Sub(o Time) time.Duration { return time.Duration(t - o) }
