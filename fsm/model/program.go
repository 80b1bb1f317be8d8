package model

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"
)

// InvalidByte returns the offset of the first byte of a text that is not UTF-8, or -1.
func InvalidByte(text string) int {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
			return i
		}
	}
	return -1
}

// Stdin returns the bytes of a job's standard input, which is stored as base64 text: texts are UTF-8 and
// input may be anything.
func Stdin(text string) ([]byte, error) {
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(data) > MaxStdin || strings.ContainsAny(text, "\r\n") { // which the decoder passes over
		return nil, want("stdin", "base64 of at most %d bytes: put more into a file that the nodes have", MaxStdin)
	}
	return data, nil
}

// ProgramFault returns why a text cannot be run as a script, such as "has NUL in line 3: it is a program, not
// a script", or an empty string. A script is UTF-8 text without NUL, whose lines end with LF alone.
func ProgramFault(text string) string {
	line := func(offset int) int { return 1 + strings.Count(text[:offset], "\n") }
	if strings.HasPrefix(text, "\x7fELF") {
		return "is a compiled program (ELF), not a script"
	}
	if at := strings.IndexByte(text, 0); at >= 0 {
		return fmt.Sprintf("has a NUL byte in line %d: it is binary, not a script", line(at))
	}
	if at := InvalidByte(text); at >= 0 {
		return fmt.Sprintf("is not valid UTF-8: byte %d of line %d is 0x%02x; convert it, as by iconv -t UTF-8",
			at-strings.LastIndexByte(text[:at], '\n'), line(at), text[at])
	}
	if at := strings.Index(text, "\r\n"); at >= 0 {
		return fmt.Sprintf("has DOS line ends, the first in line %d, which shells take for parts of commands; convert it, as by dos2unix or sed -i 's/\\r$//'", line(at))
	}
	return ""
}
