package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxSeconds bounds a duration in seconds: a year and a day.
const MaxSeconds = 366 * 24 * 3600

// Duration is a length of time that is written as a number of seconds or as text such as "1h30m",
// "2d" or "01:30:00", and returned as seconds.
type Duration time.Duration

var errDuration = errors.New(`must be seconds, or text such as "90s", "1h30m", "2d" or "1:30:00"`)

// ErrTooLong is the error of durations above [MaxSeconds].
var ErrTooLong = fmt.Errorf("must be at most %d days", MaxSeconds/86400)

// UnmarshalJSON parses either form.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		v, err := ParseDuration(text)
		*d = Duration(v)
		return err
	}
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return errDuration
	}
	v, err := FromSeconds(seconds)
	*d = Duration(v)
	return err
}

// MarshalJSON writes seconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).Seconds())
}

// FromSeconds converts seconds to a duration, if they are 0 to [MaxSeconds].
func FromSeconds(s float64) (time.Duration, error) {
	switch {
	case math.IsNaN(s):
		return 0, errDuration
	case s < 0:
		return 0, errors.New("must not be negative")
	case s > MaxSeconds:
		return 0, ErrTooLong
	}
	return time.Duration(math.Round(s * float64(time.Second))), nil
}

// ParseDuration parses "90", "90s", "1h30m", "2d12h" and, as in Slurm, "MM:SS", "HH:MM:SS" and
// "D-HH:MM:SS".
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, ":") {
		return parseClock(text)
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return FromSeconds(s)
	}
	days := 0.0
	if head, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseFloat(head, 64)
		if err != nil {
			return 0, errDuration
		}
		days, text = n, rest
		if rest == "" {
			text = "0s"
		}
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return 0, errDuration
	}
	return FromSeconds(days*24*3600 + v.Seconds())
}

func parseClock(text string) (time.Duration, error) {
	days, clock, found := strings.Cut(text, "-")
	if !found {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) > 3 {
		return 0, errDuration
	}
	total := 0.0
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return 0, errDuration
		}
		total = total*60 + float64(n)
	}
	d, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, errDuration
	}
	return FromSeconds(float64(d)*24*3600 + total)
}
