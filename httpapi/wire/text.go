package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// HalfCharacter returns the offset of the first escape in JSON text that stands for half a
// character, such as \ud800 without a second half, or -1. Readers of JSON replace such an escape
// by U+FFFD without an error. The text must be valid JSON.
func HalfCharacter(data []byte) int {
	for at := 0; at < len(data); {
		next := bytes.IndexByte(data[at:], '\\')
		if next < 0 || at+next+1 >= len(data) {
			return -1
		}
		at += next
		first := escaped(data[at:])
		switch {
		case first < 0xd800 || first > 0xdfff:
			at += 2
		case first < 0xdc00 && within(escaped(data[at+escapeLen:]), 0xdc00, 0xdfff):
			at += 2 * escapeLen
		default:
			return at
		}
	}
	return -1
}

// escapeLen is the length of an escape such as \u00e9, in bytes.
const escapeLen = 6

// escaped returns the number of an escape at the beginning of a text, or -1.
func escaped(data []byte) int {
	if len(data) < escapeLen || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(data[2:escapeLen]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

func within(n, low, high int) bool { return n >= low && n <= high }

// Replaced reports whether JSON of this program's encoder lacks bytes of the original: the encoder
// puts the escape \ufffd in place of each byte that is not UTF-8, and writes the character U+FFFD
// itself without an escape.
func Replaced(data []byte) bool {
	for at := 0; at < len(data); {
		next := bytes.IndexByte(data[at:], '\\')
		if next < 0 {
			return false
		}
		if at += next; escaped(data[at:]) == utf8.RuneError {
			return true
		}
		at += 2
	}
	return false
}
