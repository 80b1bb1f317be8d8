package form

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// TimeFormat is the variable that says how Slurm's programs show times.
const TimeFormat = "SLURM_TIME_FORMAT"

// FormatMoment returns a time as Slurm's programs show it: local and without a zone, or in the format of the variable [TimeFormat], which
// is "standard", "relative", or a format of strftime(3). Slurm shows at most 255 bytes.
func FormatMoment(t, now time.Time, layout string) string {
	switch strings.ToLower(layout) {
	case "", "standard":
		return t.Format("2006-01-02T15:04:05")
	case "relative":
		return relative(t, now)
	}
	text := strftime(t, layout)
	return text[:min(len(text), 255)]
}

// relative returns a time in as many words as its distance needs.
func relative(t, now time.Time) string {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	switch days := int(day(t).Sub(day(now)) / (24 * time.Hour)); {
	case days == 0:
		return t.Format("15:04:05")
	case days == -1:
		return t.Format("Ystday 15:04")
	case days == 1:
		return t.Format("Tomorr 15:04")
	case days > -7 && days < 7:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

// layouts returns the conversions of strftime(3) that Go has a layout for.
func layouts() map[byte]string {
	return map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006", 'd': "02", 'D': "01/02/06", 'e': "_2", 'F': "2006-01-02",
		'h': "Jan", 'H': "15", 'I': "03", 'j': "002", 'm': "01", 'M': "04", 'n': "\n", 'p': "PM", 'P': "pm", 'r': "03:04:05 PM", 'R': "15:04", 'S': "05", 't': "\t",
		'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST", '%': "%",
	}
}

// strftime formats a time as strftime(3) does in the locale C. A conversion that does not exist stays as it is.
func strftime(t time.Time, layout string) string {
	var out strings.Builder
	known := layouts()
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' || i+1 == len(layout) {
			out.WriteByte(layout[i])
			continue
		}
		i++
		if (layout[i] == 'E' || layout[i] == 'O') && i+1 < len(layout) {
			i++ // the locale C has no other forms
		}
		switch c := layout[i]; {
		case known[c] != "":
			out.WriteString(t.Format(known[c]))
		default:
			out.WriteString(computed(t, c))
		}
	}
	return out.String()
}

// computed returns the conversions that Go has no layout for.
func computed(t time.Time, c byte) string {
	year, week := t.ISOWeek()
	sunday := int(t.Weekday())
	monday := (sunday + 6) % 7
	switch c {
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'g':
		return fmt.Sprintf("%02d", year%100)
	case 'G':
		return strconv.Itoa(year)
	case 'V':
		return fmt.Sprintf("%02d", week)
	case 'k':
		return fmt.Sprintf("%2d", t.Hour())
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1)
	case 'u':
		return strconv.Itoa(monday + 1)
	case 'w':
		return strconv.Itoa(sunday)
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-sunday)/7)
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-monday)/7)
	}
	return "%" + string(c)
}
