package model

import (
	"strings"
	"testing"
)

// No name looks like another: its letters are of one script, in their usual forms, and all
// of it can be seen.
func TestNames(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{ // to the fault's text; empty: none
		"alice": "", "a.b-c_9@example.org": "", "berth:gpu-1": "", "LAB\\alice": "", "Zoë": "", "žluťoučký": "", "андрей": "", "Ελένη": "", "山田太郎": "", "やまだ太郎-2": "",
		"김철수": "", "नमस्ते": "", "محمد": "", "משה": "", "GPU-3f2a9c0d": "",
		"":                       "0 bytes",
		strings.Repeat("a", 129): "129 bytes",
		"a b":                    "U+0020 is a space",
		"../../x":                "begins with a dot",
		"..":                     "begins with a dot",
		".ssh":                   "begins with a dot",
		"-rf":                    "begins with a dot or a hyphen",
		"a/b":                    "U+002F divides paths",
		"a/../b":                 "U+002F divides paths",
		"a\u00a0b":               "U+00A0 is a space",
		"a\x1bb":                 "U+001B is a control character",
		"a\xff":                  "UTF-8",
		"\u0430lice":             "U+006C is Latin among Cyrillic", // а of Cyrillic
		"alic\u0435":             "U+0435 is Cyrillic among Latin",
		"alice\u3164":            "U+3164 (Hangul filler) cannot be seen",
		"alice\u115f":            "U+115F (Hangul filler) cannot be seen",
		"alice\uffa0":            "U+FFA0 (Hangul filler) cannot be seen",
		"alice\u2800":            "U+2800 (blank Braille pattern) cannot be seen",
		"alice\u200b":            "U+200B (zero width space) cannot be seen",
		"alice\u200d":            "cannot be seen",
		"alice\u00ad":            "U+00AD (soft hyphen) cannot be seen",
		"alice\ufe00":            "U+FE00 cannot be seen",
		"alice\U000e0041":        "U+E0041 cannot be seen",
		"\u202eecila":            "U+202E (right-to-left override) turns text around",
		"alice\u2067":            "turns text around",
		"zoe\u0308":              "U+0308 is a mark by itself",
		"\u0308a":                "U+0308 is a mark by itself",
		"\uff41lice":             "U+FF41 is another form",
		"al\u0131ce\u212a":       "U+212A is another form",
		"\U0001d41alice":         "another form",
		"\ufb01ne":               "U+FB01 is another form",
		"ⅳ":                      "another form",
		"alice\ue000":            "U+E000 is not a character that can be printed",
		"al·ice":                 "U+00B7 is neither a letter nor ASCII",
		"alice🚀":                 "another form",
		"\u0430\u0441\u0435":     "look like Latin", // ace in Cyrillic
		"\u039f\u03a1":           "look like Latin",
		"山a":                     "U+0061 is Latin among Han",
	} {
		if got := nameFault(s); (got == "") != (want == "") || !strings.Contains(got, want) || Name(s) != (want == "") {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// A text may be in any script and holds nothing that cannot be seen or turns it around; what
// is wrong is named by its code.
func TestTexts(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"": "", "llama 7b: βήτα-δοκιμή, 试验 №3 🚀": "", "❤\ufe0f": "", "a\u00a0b": "", "Zoe\u0308": "",
		"a\nb":                  "U+000A is a line break",
		"\u202eabc":             "at most 20 bytes of text on one line: U+202E (right-to-left override) turns text around",
		"a\u200fb":              "U+200F (right-to-left mark) turns text around",
		"a\u200bb":              "U+200B (zero width space) cannot be seen",
		"a\u3164b":              "U+3164 (Hangul filler) cannot be seen",
		"a\x00b":                "U+0000 is a control character",
		"a\u0085b":              "U+0085 is a control character",
		"a\u2028b":              "U+2028 is not a character that can be printed",
		"123456789012345678901": "has 21 bytes",
	} {
		limit := 20
		if want == "" {
			limit = 200
		}
		if got := textFault(s, limit); (got == "") != (want == "") || !strings.Contains(got, want) || Text(s, limit) != (want == "") {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got := Clip("a\u202eb\u3164c\x1bd"); got != "abcd" {
		t.Errorf("clipped to %q", got)
	}
	spec := Spec{User: "alice", Name: "\u202eabc"}
	if err := spec.validNames(); err == nil || !strings.Contains(err.Error(), "name: must be at most 128 bytes of text on one line: U+202E (right-to-left override)") {
		t.Errorf("a job of that name: %v", err)
	}
}
