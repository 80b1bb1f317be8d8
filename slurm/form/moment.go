package form

import (
	"strconv"
	"strings"
	"time"
)

// Moment is an instant, or a time from now on.
type Moment struct {
	At       time.Time
	Relative bool          // it was written as now, or now with a time added
	Delay    time.Duration // from now to At, if Relative
}

const momentForms = "is no time: write now+1hour, 16:00, 2026-01-31T12:00, 01/31/26, today, tomorrow, midnight, noon or teatime"

// ParseMoment parses an instant as --begin and --deadline have it, in the time zone of now: now+1hour,
// HH:MM[:SS] [AM|PM], MMDD[YY], MM/DD[/YY], MM.DD[.YY], YYYY-MM-DD[THH:MM[:SS]], uts and seconds since 1970, and the
// words now, today, tomorrow, midnight, noon, elevenses, fika and teatime; a date and a time of day may stand together
// with a blank between them. A time of day alone is the next one, a date without a year too; a date alone is
// its first instant.
func ParseMoment(text string, now time.Time) (Moment, error) { return parseMoment(text, now, 1) }

// ParsePast parses an instant like [ParseMoment], but a time of day alone is the last one, as for sacct.
func ParsePast(text string, now time.Time) (Moment, error) { return parseMoment(text, now, -1) }

// moment is what has been read of an instant.
type moment struct {
	year, month, day     int // 0: not given
	hour, minute, second int
	timed                bool
}

func parseMoment(text string, now time.Time, direction int) (Moment, error) {
	trimmed := strings.ToLower(strings.TrimSpace(text))
	if rest, found := strings.CutPrefix(trimmed, "now"); found {
		d, ok := parseDelta(rest)
		if !ok {
			return Moment{}, bad(text, "is no time: after now write + or - and a whole number of seconds, minutes, hours, days or weeks, such as now+1hour")
		}
		return Moment{At: now.Add(d), Relative: true, Delay: d}, nil
	}
	if seconds, found := strings.CutPrefix(trimmed, "uts"); found {
		n, err := strconv.ParseInt(seconds, 10, 40)
		if err != nil || n < 0 {
			return Moment{}, bad(text, "%s", momentForms)
		}
		return Moment{At: time.Unix(n, 0).In(now.Location())}, nil
	}
	m, ok := readMoment(trimmed, now)
	if !ok {
		return Moment{}, bad(text, "%s", momentForms)
	}
	at := m.complete(now, direction)
	if m.month > 0 && (int(at.Month()) != m.month || at.Day() != m.day) {
		return Moment{}, bad(text, "is no time: there is no such day")
	}
	return Moment{At: at}, nil
}

// readMoment reads words that blanks separate.
func readMoment(text string, now time.Time) (m moment, ok bool) {
	words := strings.Fields(text)
	for i, word := range words {
		date, clock, both := strings.Cut(word, "t")
		switch {
		case m.word(word, now):
			ok = true
		case strings.Contains(word, ":") && !both:
			ok = m.clock(word)
		case (word == "am" || word == "pm") && i > 0:
			ok = m.clock(words[i-1] + word)
		case both:
			ok = m.date(date, now) && m.clock(clock)
		default:
			ok = m.date(word, now)
		}
		if !ok {
			return m, false
		}
	}
	return m, ok
}

// hours returns the hour of a word.
func hours(word string) (int, bool) {
	hour, known := map[string]int{"midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}[word]
	return hour, known
}

// word sets what a word stands for, and reports whether it is one.
func (m *moment) word(word string, now time.Time) bool {
	if hour, known := hours(word); known {
		m.hour, m.timed = hour, true
		return true
	}
	day := now
	switch word {
	case "today":
	case "tomorrow":
		day = now.AddDate(0, 0, 1)
	default:
		return false
	}
	m.year, m.month, m.day = day.Year(), int(day.Month()), day.Day()
	return true
}

// clock reads HH:MM[:SS][am|pm].
func (m *moment) clock(text string) bool {
	shift, twelve := 0, false
	for suffix, hours := range map[string]int{"am": 0, "pm": 12} {
		if before, found := strings.CutSuffix(text, suffix); found {
			text, shift, twelve = before, hours, true
		}
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return false
	}
	n := [3]int{}
	for i, part := range parts {
		var err error
		if n[i], err = digits(part); err != nil || len(part) > 2 || n[i] > 59 {
			return false
		}
	}
	if twelve && (n[0] < 1 || n[0] > 12) || n[0] > 23 {
		return false
	}
	if twelve {
		n[0] = n[0]%12 + shift
	}
	m.hour, m.minute, m.second, m.timed = n[0], n[1], n[2], true
	return true
}

// date reads MMDD[YY], MM/DD[/YY], MM.DD[.YY] or YYYY-MM-DD.
func (m *moment) date(text string, now time.Time) bool {
	var parts []string
	for _, separator := range []string{"/", ".", "-"} {
		if strings.Contains(text, separator) {
			parts = strings.Split(text, separator)
			if separator == "-" && len(parts) != 3 {
				return false
			}
			if separator == "-" {
				parts = []string{parts[1], parts[2], parts[0]}
			}
			break
		}
	}
	if parts == nil && (len(text) == 4 || len(text) == 6) {
		parts = []string{text[:2], text[2:4], text[4:]}
	}
	if len(parts) == 3 && parts[2] == "" {
		parts = parts[:2]
	}
	if len(parts) < 2 || len(parts) > 3 {
		return false
	}
	n := [3]int{}
	for i, part := range parts {
		var err error
		if n[i], err = digits(part); err != nil || n[i] > 9999 {
			return false
		}
	}
	if len(parts) == 3 && n[2] < 100 {
		n[2] += now.Year() / 100 * 100
	}
	m.month, m.day, m.year = n[0], n[1], n[2]
	return m.month >= 1 && m.month <= 12 && m.day >= 1 && m.day <= 31
}

// complete returns the instant, with what was not given filled in.
func (m *moment) complete(now time.Time, direction int) time.Time {
	at := func(year, month, day int) time.Time {
		return time.Date(year, time.Month(month), day, m.hour, m.minute, m.second, 0, now.Location())
	}
	switch {
	case m.month == 0:
		t := at(now.Year(), int(now.Month()), now.Day())
		if direction > 0 && !t.After(now) || direction < 0 && t.After(now) {
			t = at(now.Year(), int(now.Month()), now.Day()+direction)
		}
		return t
	case m.year == 0:
		t := at(now.Year(), m.month, m.day)
		if direction > 0 && t.Before(now) || direction < 0 && t.After(now) {
			t = at(now.Year()+direction, m.month, m.day)
		}
		return t
	default:
		return at(m.year, m.month, m.day)
	}
}

// parseDelta reads what follows now: nothing, or a sign, a number and a unit.
func parseDelta(text string) (time.Duration, bool) {
	text = strings.ReplaceAll(text, " ", "")
	if text == "" {
		return 0, true
	}
	sign := time.Duration(1)
	if text[0] == '-' {
		sign = -1
	}
	number := strings.TrimRight(text[1:], "abcdefghijklmnopqrstuvwxyz")
	unit, known := map[string]time.Duration{
		"": time.Second, "second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	}[strings.TrimSuffix(text[1+len(number):], "s")]
	n, err := digits(number)
	if text[0] != '+' && text[0] != '-' || !known || err != nil || n > int(MaxSpan/unit) {
		return 0, false
	}
	return sign * time.Duration(n) * unit, true
}
