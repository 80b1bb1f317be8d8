package form

import (
	"errors"
	"testing"
	"time"
)

// refused checks texts that a parser refuses, with the whole message of each.
func refused[T any](t *testing.T, parse func(string) (T, error), cases map[string]string) {
	t.Helper()
	for text, want := range cases {
		if v, err := parse(text); err == nil || err.Error() != want || !errors.Is(err, ErrForm) {
			t.Errorf("%q is %v, with the error\n %v\nwant\n %s", text, v, err, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"1": time.Minute, "30": 30 * time.Minute, "1440": day, "1:30": 90 * time.Second, "0:90": 90 * time.Second,
		"2:00:00": 2 * time.Hour, "02:30:05": 2*time.Hour + 30*time.Minute + 5*time.Second, "10-23": 10*day + 23*time.Hour,
		"1-0:30": day + 30*time.Minute, "1-00:00:30": day + 30*time.Second, "0": 0, "00:00": 0, "0-0": 0,
		"UNLIMITED": Unlimited, "infinite": Unlimited, "-1": Unlimited, "7-0": 7 * day, "36:00:00": 36 * time.Hour,
	} {
		if got, err := ParseSpan(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	refused(t, ParseSpan, map[string]string{
		"":           `"" ` + spanForms,
		"1h":         `"1h" ` + spanForms,
		"1:2:3:4":    `"1:2:3:4" ` + spanForms,
		"1-":         `"1-" ` + spanForms,
		"-5":         `"-5" ` + spanForms,
		"1-2-3":      `"1-2-3" ` + spanForms,
		"1.5":        `"1.5" ` + spanForms,
		"40000-0":    `"40000-0" is too long: at most 36500 days; for no limit write UNLIMITED`,
		"1000000000": `"1000000000" is too long: at most 36500 days; for no limit write UNLIMITED`,
	})
}

func TestFormatSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		0:                             {"00:00:00", "0:00"},
		5 * time.Second:               {"00:00:05", "0:05"},
		30 * time.Minute:              {"00:30:00", "30:00"},
		2*time.Hour + time.Minute:     {"02:01:00", "2:01:00"},
		24*time.Hour + 30*time.Minute: {"1-00:30:00", "1-00:30:00"},
		Unlimited:                     {"UNLIMITED", "UNLIMITED"},
		-time.Second:                  {"00:00:00", "0:00"},
	} {
		if full, short := FormatSpan(d), FormatShortSpan(d); full != want[0] || short != want[1] {
			t.Errorf("%v is printed as %q and %q, want %q", d, full, short, want)
		}
	}
	for d, want := range map[time.Duration]time.Duration{
		0: 0, time.Second: time.Minute, time.Minute: time.Minute, 61 * time.Second: 2 * time.Minute, Unlimited: Unlimited,
	} {
		if got := WholeMinutes(d); got != want {
			t.Errorf("WholeMinutes(%v) is %v", d, got)
		}
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"32000": 32000, "8000M": 8000, "0": 0, "1T": 1 << 20, "64G": 64 << 10, "64GB": 64 << 10, "1024K": 1, "1025k": 2, "1K": 1, "16mb": 16, "2g": 2048,
	} {
		if got, err := ParseMemory(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	refused(t, ParseMemory, map[string]string{
		"":         `"" ` + memoryForms,
		"1.5G":     `"1.5G" ` + memoryForms,
		"-1":       `"-1" ` + memoryForms,
		"G":        `"G" ` + memoryForms,
		"64GG":     `"64GG" ` + memoryForms,
		"64B":      `"64B" ` + memoryForms,
		"64Gi":     `"64Gi" ` + memoryForms,
		"9999999T": `"9999999T" is too much memory: at most 1048576T`,
	})
	for mib, want := range map[int64]string{0: "0M", 32000: "32000M", 65536: "64G", 1 << 20: "1T", 1536: "1536M"} {
		if got := FormatMemory(mib); got != want {
			t.Errorf("%d is printed as %q, want %q", mib, got, want)
		}
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]NodeCount{"2": {2, 2}, "2-4": {2, 4}, "1k": {1024, 1024}, "1-2K": {1, 2048}, "1m": {1 << 20, 1 << 20}} {
		if got, err := ParseNodes(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	refused(t, ParseNodes, map[string]string{
		"":      `"" is no number of nodes: write N, or MIN-MAX such as 2-4`,
		"x":     `"x" is no number of nodes: write N, or MIN-MAX such as 2-4`,
		"2-":    `"2-" is no number of nodes: write N, or MIN-MAX such as 2-4`,
		"-2":    `"-2" is no number of nodes: write N, or MIN-MAX such as 2-4`,
		"0":     `"0" is no number of nodes: a job has at least one`,
		"4-2":   `"4-2" is no number of nodes: the least number is above the greatest`,
		"1,4":   `"1,4" is a list of sizes, which Berth does not have: write N, or MIN-MAX such as 2-4`,
		"2-8:2": `"2-8:2" is a list of sizes, which Berth does not have: write N, or MIN-MAX such as 2-4`,
		"9999m": `"9999m" is no number of nodes: write N, or MIN-MAX such as 2-4`,
	})
}

func TestCount(t *testing.T) {
	t.Parallel()
	if n, err := ParseCount("8", 1); n != 8 || err != nil {
		t.Errorf("8 is %d, %v", n, err)
	}
	refused(t, func(text string) (int, error) { return ParseCount(text, 1) }, map[string]string{
		"0": `"0" is not a whole number from 1 to 1073741824`, "": `"" is not a whole number from 1 to 1073741824`,
		"4x": `"4x" is not a whole number from 1 to 1073741824`, "99999999999": `"99999999999" is not a whole number from 1 to 1073741824`,
	})
}

func TestSignal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"USR1": "USR1", "SIGUSR1": "USR1", "usr1": "USR1", "10": "USR1", "15": "TERM", "SigTerm": "TERM"} {
		if got, err := ParseSignal(text); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	if SignalNumber("USR1") != 10 || SignalNumber("SYS") != 31 || SignalNumber("x") != 0 {
		t.Error("wrong numbers of signals")
	}
	for text, want := range map[string]string{
		"B:USR1@240": "B:USR1@240", "USR1": "USR1@60", "R:10@30": "USR1@30", "RB:TERM@0": "B:TERM@0", "b:sigusr2": "B:USR2@60", "USR1@65535": "USR1@65535",
	} {
		if got, err := ParseWarning(text); err != nil || got.String() != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	const signals = ` is no signal: write a name or number, such as USR1, SIGTERM or 10`
	refused(t, ParseWarning, map[string]string{
		"FOO":        `"FOO"` + signals,
		"":           `""` + signals,
		"0":          `"0"` + signals,
		"64@30":      `"64"` + signals,
		"X:USR1":     `"X:USR1" is no signal: in front of the colon only R and B are allowed, as in B:USR1@300`,
		"USR1@":      `"USR1@" has no valid time after @: seconds from 0 to 65535, as in USR1@300`,
		"USR1@70000": `"USR1@70000" has no valid time after @: seconds from 0 to 65535, as in USR1@300`,
		"USR1@5m":    `"USR1@5m" has no valid time after @: seconds from 0 to 65535, as in USR1@300`,
	})
}
