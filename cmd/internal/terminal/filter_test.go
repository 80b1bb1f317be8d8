package terminal

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What a terminal would obey is left out, and what people read stays.
func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\r\n":                                "plain\ttext\r\n",
		"größer 訓練 👩‍💻":                                  "größer 訓練 👩‍💻",
		"\x1b[1;31mred\x1b[0m \x1b[38;5;9mx\x1b[m":       "\x1b[1;31mred\x1b[0m \x1b[38;5;9mx\x1b[m",
		"\x1b[38:2::1:2:3mx":                             "\x1b[38:2::1:2:3mx",
		"a\x1b]52;c;ZXZpbA==\x07b":                       "ab",
		"a\x1b]0;title\x1b\\b":                           "ab",
		"a\x1b]0;ti\x1btle\x1b\\b":                       "ab",
		"a\x1bPq#0;2\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d":   "abcd",
		"a\x1b[2J\x1b[1;1H\x1b[?1049h\x1b[6n\x1b[>4;1mb": "ab",
		"a\x1bcb\x1b7\x1b8\x1b(0\x1b#8c":                 "abc",
		"a\x00\x07\x08\x0b\x0c\x0e\x7fb":                 "ab",
		"a\xc2\x9b2Jb\xc2\x9d0;x\xc2\x9cc":               "a2Jb0;xc",
		"a\x9b2Jb":                                       "a\uFFFD2Jb",
		"caf\xe9 x\xe8\xa8":                              "caf\uFFFD x\uFFFD\uFFFD",
		"a\u202eb\u2066c\u2069":                          "abc",
		"a\x1b]0;never ended\nb":                         "a\nb",
		"a\x1b[12\nb":                                    "a\nb",
		"a\x1b\x1b[31mb":                                 "a\x1b[31mb",
		"a\x1b[3\x1b[31mb":                               "a\x1b[31mb",
		"a\x1b]x\x18b":                                   "ab",
		"\x1b[" + strings.Repeat("1;", 40) + "mx":        "x",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		var pieces bytes.Buffer
		f := &filter{to: &pieces}
		if _, err := io.Copy(struct{ io.Writer }{f}, iotest.OneByteReader(strings.NewReader(text))); err != nil {
			t.Error(err)
		}
		f.finish()
		if pieces.String() != want {
			t.Errorf("%q in pieces is shown as %q, want %q", text, pieces.String(), want)
		}
	}
}

// What is no terminal gets every byte.
func TestPipesGetAllBytes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if w := Wrap(&out); w != io.Writer(&out) || Raw(w) != w || Columns(w) != 0 {
		t.Error("a buffer is taken for a terminal")
	}
}
