package table

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Elapsed formats a duration like a clock: "0:07", "1:02:03", "3-04:00:00".
func Elapsed(d time.Duration) string {
	s := int64(math.Floor(d.Seconds()))
	if s < 0 {
		return "-"
	}
	days, h, m, s := s/86400, s/3600%24, s/60%60, s%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d-%02d:%02d:%02d", days, h, m, s)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}

// Seconds formats a number of seconds like Elapsed.
func Seconds(s float64) string { return Elapsed(time.Duration(s * float64(time.Second))) }

// About formats a duration in one or two words: "about 40 min", "350 ms".
func About(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

// Span formats a length of time for the command line: "14d", "1d12h", "1h30m", "90ms".
func Span(d time.Duration) string {
	text := d.String()
	if text == "0s" {
		return text
	}
	if days := d / (24 * time.Hour); days > 0 {
		text = fmt.Sprintf("%dd", days)
		if rest := d % (24 * time.Hour); rest > 0 {
			text += rest.String()
		}
	}
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Bytes formats a number of bytes with its unit.
func Bytes(n float64) string {
	const step = 1024
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= step && i < len(units)-1; i++ {
		n /= step
	}
	return strconv.FormatFloat(n, 'f', min(i, 1), 64) + " " + units[i]
}

// Clock formats an instant: the time of day if it is today, else with its date.
func Clock(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	t, now = t.Local(), now.Local()
	if y, m, d := t.Date(); y == now.Year() && m == now.Month() && d == now.Day() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// utc finds instants in the cluster's format.
var utc = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// Local returns a text in which each instant in UTC is replaced by Clock's form.
func Local(text string, now time.Time) string {
	return utc.ReplaceAllStringFunc(text, func(at string) string {
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil { // digits, but no date
			return at
		}
		return Clock(t, now)
	})
}

// Ranges formats a list of numbers: "0-3,6".
func Ranges(list []int64) string {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.FormatInt(list[i], 10)
		if j > i {
			part += "-" + strconv.FormatInt(list[j], 10)
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
