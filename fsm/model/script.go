package model

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name reports whether s can name a user, project, node or the like: 1 to MaxName bytes of printable UTF-8
// without spaces and slashes and with no dot or hyphen at the begin, so that it is safe as a part of a path and of a command line, whose
// letters are of one script, so that no other name looks like it. Digits, hyphens and the like are of every script.
func Name(s string) bool { return nameFault(s) == "" }

// Text reports whether s is at most limit bytes of UTF-8 on one line in which every
// character can be seen.
func Text(s string, limit int) bool { return textFault(s, limit) == "" }

// WantName returns the problem of a field whose value cannot be a name, with the reason; nil if it can.
func WantName(field, s string) error { return faulty(field, nameFault(s)) }

// WantText returns the problem of a field whose value is not a text of at most limit bytes on one line, with
// the reason; nil if it is.
func WantText(field, s string, limit int) error { return faulty(field, textFault(s, limit)) }

func faulty(field, fault string) error {
	if fault == "" {
		return nil
	}
	return &Problem{Field: field, Want: fault}
}

// textFault returns the requirement for a text that s does not meet; empty: none.
func textFault(s string, limit int) string {
	want := fmt.Sprintf("at most %d bytes of text on one line", limit)
	switch {
	case len(s) > limit:
		return fmt.Sprintf("%s, and has %d bytes", want, len(s))
	case !utf8.ValidString(s):
		return want + ", and is not valid UTF-8"
	}
	for _, r := range s {
		if fault := runeFault(r); fault != "" {
			return want + ": " + fault
		}
	}
	return ""
}

// nameFault returns the requirement for a name that s does not meet; empty: none.
func nameFault(s string) string {
	want := fmt.Sprintf("a name of 1 to %d bytes without spaces or control characters", MaxName)
	switch {
	case s == "" || len(s) > MaxName:
		return fmt.Sprintf("%s, and has %d bytes", want, len(s))
	case !utf8.ValidString(s):
		return want + ", and is not valid UTF-8"
	}
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-") {
		return want + ": it begins with a dot or a hyphen, as names of hidden files and of options do"
	}
	ascii := true
	for _, r := range s {
		switch fault := runeFault(r); {
		case r == '/':
			return want + ": U+002F divides paths"
		case unicode.IsSpace(r):
			return fmt.Sprintf("%s: %s is a space", want, codeOf(r))
		case fault != "":
			return want + ": " + fault
		case r > unicode.MaxASCII:
			ascii = false
		}
	}
	if !ascii {
		if fault := scriptFault(s); fault != "" {
			return want + ", and with letters of one script: " + fault
		}
	}
	return ""
}

// runeFault returns why a character may not be in a text; empty: it may.
func runeFault(r rune) string {
	switch {
	case r == '\n' || r == '\r':
		return codeOf(r) + " is a line break"
	case unicode.IsControl(r):
		return codeOf(r) + " is a control character"
	case unicode.Is(unicode.Bidi_Control, r):
		return codeOf(r) + " turns text around"
	case invisible(r):
		return codeOf(r) + " cannot be seen"
	case !unicode.IsGraphic(r):
		return codeOf(r) + " is not a character that can be printed"
	}
	return ""
}

// invisible reports whether a character is part of a text without being visible: format characters, fillers
// and variation selectors, except for the one that selects an emoji.
func invisible(r rune) bool {
	const emoji, blankPattern = 0xFE0F, 0x2800
	return r != emoji && (unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == blankPattern)
}

// codeOf names a character as Unicode does, without showing it.
func codeOf(r rune) string {
	names := map[rune]string{
		0x00AD: "soft hyphen", 0x061C: "Arabic letter mark", 0x115F: "Hangul filler", 0x1160: "Hangul filler", 0x200B: "zero width space",
		0x200C: "zero width non-joiner", 0x200D: "zero width joiner", 0x200E: "left-to-right mark", 0x200F: "right-to-left mark",
		0x202A: "left-to-right embedding", 0x202B: "right-to-left embedding", 0x202C: "pop directional formatting",
		0x202D: "left-to-right override", 0x202E: "right-to-left override", 0x2060: "word joiner", 0x2066: "left-to-right isolate",
		0x2067: "right-to-left isolate", 0x2068: "first strong isolate", 0x2069: "pop directional isolate", 0x2800: "blank Braille pattern",
		0x3164: "Hangul filler", 0xFEFF: "zero width no-break space", 0xFFA0: "Hangul filler",
	}
	if name, known := names[r]; known {
		return fmt.Sprintf("U+%04X (%s)", r, name)
	}
	return fmt.Sprintf("U+%04X", r)
}

// scriptFault returns why a name that is not ASCII could be taken for another; empty: it cannot. Its letters
// must be of one script, or of those that Japanese, Korean and Chinese write together (UTS 39, 5.2), in their
// usual forms.
func scriptFault(s string) string {
	families := map[string][]string{
		"Han": {"Hiragana", "Katakana", "Hangul", "Bopomofo"}, "Hiragana": {"Han", "Katakana"}, "Katakana": {"Han", "Hiragana"},
		"Hangul": {"Han"}, "Bopomofo": {"Han"},
	}
	var scripts []string
	letter := rune(0) // the one before
	alike := true
	for _, r := range s {
		switch {
		case unusual(r):
			return codeOf(r) + " is another form of a usual character"
		case unicode.Is(unicode.M, r) && (letter == 0 || unicode.In(letter, unicode.Latin, unicode.Greek, unicode.Cyrillic)):
			return codeOf(r) + " is a mark by itself: write the letter that has it"
		case unicode.Is(unicode.M, r):
		case unicode.IsLetter(r):
			name := scriptOf(r)
			for _, other := range scripts {
				if other != name && !slices.Contains(families[name], other) {
					return fmt.Sprintf("%s is %s among %s", codeOf(r), name, other)
				}
			}
			if !slices.Contains(scripts, name) {
				scripts = append(scripts, name)
			}
			letter, alike = r, alike && strings.ContainsRune(likeLatin, r)
			continue
		case r > unicode.MaxASCII:
			return codeOf(r) + " is neither a letter nor ASCII"
		}
		if !unicode.Is(unicode.M, r) {
			letter = 0
		}
	}
	if len(scripts) > 0 && alike {
		return "all its letters are " + scripts[0] + " ones that look like Latin"
	}
	return ""
}

// likeLatin are letters of Cyrillic and Greek that look like Latin ones.
const likeLatin = "аеорсухіјѕһԁԛԝӏАВЕКМНОРСТУХІЈЅԚԜӀ" + "ονρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"

// scriptOf returns the name of a letter's script.
func scriptOf(r rune) string {
	for name, table := range unicode.Scripts { // order-free: a letter is of one script
		if unicode.Is(table, r) {
			return name
		}
	}
	return "of no script"
}

// unusual reports whether a character is a compatibility form of another: of full or half
// width, a presentation form, a mathematical, enclosed, small, raised or old one.
func unusual(r rune) bool {
	for _, span := range [][2]rune{
		{0x00AA, 0x00AA},
		{0x00BA, 0x00BA},
		{0x0132, 0x0133},
		{0x0149, 0x0149},
		{0x017F, 0x017F},
		{0x01C4, 0x01CC},
		{0x01F1, 0x01F3},
		{0x0250, 0x02FF},
		{0x0370, 0x0377},
		{0x037A, 0x037A},
		{0x03CF, 0x03FF},
		{0x1D00, 0x1DBF},
		{0x1F00, 0x1FFF},
		{0x2070, 0x209F},
		{0x2100, 0x218F},
		{0x2460, 0x24FF},
		{0x2C60, 0x2C7F},
		{0x2E80, 0x2FDF},
		{0x3130, 0x318F},
		{0x3200, 0x33FF},
		{0xA640, 0xA69F},
		{0xA720, 0xA7FF},
		{0xAB30, 0xAB6F},
		{0xF900, 0xFDFF},
		{0xFE70, 0xFEFF},
		{0xFF00, 0xFFEF},
		{0x10000, 0x1FFFF},
		{0x2F800, 0x2FA1F},
	} {
		if r >= span[0] && r <= span[1] {
			return true
		}
	}
	return false
}
