package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

var errMoment = errors.New("must be a time such as +2h, 20:00, tomorrow, 2026-01-31 or 2026-01-31T20:00")

// Moment parses an instant as users and Slurm write it, and formats it for the API. "+2h" and
// "now+2hours" stay relative: the cluster's clock counts. Empty text stays empty.
func Moment(flag, text string, now time.Time) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", nil
	}
	if ahead, relative := strings.CutPrefix(strings.TrimPrefix(text, "now"), "+"); relative {
		d, err := Span(ahead)
		if errors.Is(err, wire.ErrTooLong) || d > wire.MaxSeconds*time.Second {
			return "", cmdline.Usage("%s must be at most %d days ahead, not %q", flag, wire.MaxSeconds/86400, text)
		}
		if err != nil {
			return "", cmdline.Usage("%s %w, not %q", flag, errMoment, text)
		}
		return "+" + strconv.FormatFloat(d.Seconds(), 'f', -1, 64), nil
	}
	t, err := instant(text, now)
	if err != nil {
		return "", cmdline.Usage("%s %w, not %q", flag, err, text)
	}
	return t.UTC().Format(time.RFC3339), nil
}

// Span parses "2h", "90" for seconds, and Slurm's "1hour" or "3days".
func Span(text string) (time.Duration, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit, known := map[string]time.Duration{
		"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}[strings.TrimSuffix(text[len(digits):], "s")]
	if !known {
		return wire.ParseDuration(text)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0, errMoment
	}
	return time.Duration(n) * unit, nil
}

// instant parses a time in the time zone of now: a time of day is the next one.
func instant(text string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(text) {
	case "now":
		return now, nil
	case "midnight", "tomorrow":
		return midnight.AddDate(0, 0, 1), nil
	case "today":
		return midnight, nil
	case "noon":
		text = "12:00"
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		if !at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		return at, nil
	}
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
	} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errMoment
}
