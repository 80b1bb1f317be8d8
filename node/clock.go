package node

import "time"

// later returns the instant d from now.
func later(d time.Duration) time.Time { return time.Now().Add(d) }

// due reports whether an instant has come.
func due(t time.Time) bool { return !time.Now().Before(t) }
