package form

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Each conversion is that of strftime(3), as date has it.
func TestStrftime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 7, 9, 0, time.UTC)
	if got := FormatMoment(at, at, "%Y-%m-%dT%H:%M:%S%z"); got != "2026-03-01T00:07:09+0000" {
		t.Errorf("it is %q", got)
	}
	if got := FormatMoment(at, at, "%s|%q|%"); got != "1772323629|%q|%" {
		t.Errorf("it is %q", got)
	}
	var letters strings.Builder
	for c := byte('A'); c <= 'z'; c++ {
		if layouts()[c] != "" || computed(at, c) != "%"+string(c) {
			letters.WriteString("|%" + string(c))
		}
	}
	for _, day := range []time.Time{at, time.Date(2027, 1, 3, 13, 0, 0, 0, time.UTC), time.Date(2024, 12, 31, 12, 59, 59, 0, time.UTC)} {
		cmd := exec.Command("date", "-u", "-d", day.Format(time.RFC3339), "+"+letters.String())
		cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
		out, err := cmd.Output()
		if err != nil {
			t.Skip("date does not take a time: ", err)
		}
		if got, want := FormatMoment(day, at, letters.String()), strings.TrimSuffix(string(out), "\n"); got != want {
			t.Errorf("%s:\n%q, date has\n%q", day, got, want)
		}
	}
}

func TestRelativeMoments(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 14, 0, 0, 0, time.UTC)
	for text, at := range map[string]time.Time{
		"08:00:00": now.Add(-6 * time.Hour), "Ystday 23:00": now.Add(-15 * time.Hour), "Tomorr 14:00": now.AddDate(0, 0, 1), "Wed 14:00": now.AddDate(0, 0, -3),
		"1 Nov 14:00": now.AddDate(0, 0, -27), "28 Nov 2025": now.AddDate(-1, 0, 0),
	} {
		if got := FormatMoment(at, now, "relative"); got != text {
			t.Errorf("%s is %q, want %q", at, got, text)
		}
	}
	if got := FormatMoment(now, now, ""); got != "2026-11-28T14:00:00" {
		t.Errorf("it is %q", got)
	}
}
