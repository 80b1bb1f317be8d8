package form

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Unlimited is the time limit of a job without one.
const Unlimited = time.Duration(math.MaxInt64)

// MaxSpan is the longest time limit.
const MaxSpan = 100 * 365 * 24 * time.Hour

const spanForms = "is no time: write minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, " +
	"days-hours:minutes:seconds, or UNLIMITED"

// ParseSpan parses a time limit: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S, or UNLIMITED, INFINITE or -1 for
// [Unlimited]. Parts may be larger than 59, as in 0:90. 0 is 0, which as the limit of a job means none.
func ParseSpan(text string) (time.Duration, error) {
	if strings.EqualFold(text, "UNLIMITED") || strings.EqualFold(text, "INFINITE") || text == "-1" {
		return Unlimited, nil
	}
	days, clock, dated := strings.Cut(text, "-")
	if !dated {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0, bad(text, "%s", spanForms)
	}
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	if !dated && len(parts) < 3 {
		units = units[1:]
	}
	n, err := digits(days)
	if err != nil {
		return 0, bad(text, "%s", spanForms)
	}
	total := float64(n) * 24 * float64(time.Hour)
	for i, part := range parts {
		if n, err = digits(part); err != nil {
			return 0, bad(text, "%s", spanForms)
		}
		total += float64(n) * float64(units[i])
	}
	if total > float64(MaxSpan) {
		return 0, bad(text, "is too long: at most %d days; for no limit write UNLIMITED", MaxSpan/(24*time.Hour))
	}
	return time.Duration(total), nil
}

// WholeMinutes rounds a time limit up to minutes, as Slurm does. Unlimited stays.
func WholeMinutes(d time.Duration) time.Duration {
	if d == Unlimited {
		return d
	}
	return (d + time.Minute - 1) / time.Minute * time.Minute
}

// FormatSpan returns a time as sacct and scontrol print it: 00:30:00 or 1-00:30:00, and UNLIMITED. Parts of a
// second are left out.
func FormatSpan(d time.Duration) string {
	if d == Unlimited {
		return "UNLIMITED"
	}
	days, h, m, s := clockOf(d)
	if days > 0 {
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, h, m, s)
	}
	return fmt.Sprintf("%02d:%02d:%02d", h, m, s)
}

// FormatShortSpan returns a time as squeue prints it: 0:05, 30:00, 2:00:00 or 1-00:30:00, and UNLIMITED.
func FormatShortSpan(d time.Duration) string {
	if d == Unlimited {
		return "UNLIMITED"
	}
	switch days, h, m, s := clockOf(d); {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, h, m, s)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	default:
		return fmt.Sprintf("%d:%02d", m, s)
	}
}

func clockOf(d time.Duration) (days, hours, minutes, seconds int64) {
	s := int64(max(d, 0) / time.Second)
	return s / 86400, s / 3600 % 24, s / 60 % 60, s % 60
}
