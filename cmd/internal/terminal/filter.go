package terminal

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// Text returns a text as it is shown on a terminal.
func Text(text string) string {
	var out bytes.Buffer
	f := filter{to: &out}
	_, _ = f.Write([]byte(text)) // a buffer never fails
	f.finish()
	return out.String()
}

// mode is the state of the filter.
type mode uint8

const (
	inText     mode = iota
	afterEsc        // ESC
	inSequence      // ESC [: a control sequence
	inString        // ESC ] and others: a string for the terminal, until BEL or ESC \
	stringEsc       // ESC within such a string
	inCharset       // ESC and an intermediate byte
)

// The bytes that the filter knows.
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
)

// maxSequence bounds a control sequence that passes, in bytes.
const maxSequence = 64

// filter lets text, line feeds, carriage returns, tabs and colours (SGR sequences) pass, and
// removes all other control characters and sequences, and characters that change the direction of
// text. Bytes that are not UTF-8 become U+FFFD. A sequence may come in pieces; a line feed ends one
// that is not complete.
type filter struct {
	mu   sync.Mutex
	to   io.Writer
	mode mode
	held []byte // of an incomplete control sequence or character
	out  []byte
}

// Write writes what passes the filter.
func (f *filter) Write(data []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out = f.out[:0]
	for _, b := range data {
		f.take(b)
	}
	if len(f.out) > 0 {
		if _, err := f.to.Write(f.out); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

// finish writes the rest of an incomplete character.
func (f *filter) finish() {
	f.out = f.out[:0]
	if f.mode == inText {
		f.flushHeld()
	}
	_, _ = f.to.Write(f.out) // a buffer never fails
}

// take handles one byte.
func (f *filter) take(b byte) {
	if f.mode != inText && (b == '\n' || b == can || b == sub) { // the open sequence is broken off
		f.mode, f.held = inText, f.held[:0]
	}
	switch f.mode {
	case inText:
		f.text(b)
	case afterEsc:
		f.escaped(b)
	case inSequence:
		f.sequence(b)
	case inString:
		switch b {
		case bel:
			f.mode = inText
		case esc:
			f.mode = stringEsc
		}
	case stringEsc:
		if f.mode = inString; b == '\\' {
			f.mode = inText
		}
	case inCharset:
		if b >= 0x30 {
			f.mode = inText
		}
	}
}

// text handles a byte outside of sequences.
func (f *filter) text(b byte) {
	switch {
	case b >= utf8.RuneSelf:
		f.held = append(f.held, b)
		if utf8.FullRune(f.held) {
			f.character()
		}
		return
	case len(f.held) > 0:
		f.flushHeld()
	}
	switch {
	case b == esc:
		f.mode = afterEsc
	case b == '\n' || b == '\r' || b == '\t' || b >= ' ' && b != 0x7f:
		f.out = append(f.out, b)
	}
}

// character lets the held character pass if it is complete and allowed.
func (f *filter) character() {
	for len(f.held) > 0 && utf8.FullRune(f.held) {
		r, size := utf8.DecodeRune(f.held)
		if !turns(r) && (r < 0x80 || r > 0x9f) {
			f.out = utf8.AppendRune(f.out, r)
		}
		f.held = append(f.held[:0], f.held[size:]...)
	}
}

// flushHeld writes a mark in place of each byte of a character that is not complete.
func (f *filter) flushHeld() {
	for range f.held {
		f.out = utf8.AppendRune(f.out, utf8.RuneError)
	}
	f.held = f.held[:0]
}

// turns reports whether a character changes the direction of text.
func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// escaped handles the byte after ESC.
func (f *filter) escaped(b byte) {
	switch {
	case b == '[':
		f.mode, f.held = inSequence, f.held[:0]
	case bytes.IndexByte([]byte("]PX^_"), b) >= 0:
		f.mode = inString
	case b >= 0x20 && b <= 0x2f:
		f.mode = inCharset
	case b == esc:
	default:
		f.mode = inText
	}
}

// sequence handles a byte of a control sequence, of which only colours pass.
func (f *filter) sequence(b byte) {
	switch {
	case b == esc:
		f.mode, f.held = afterEsc, f.held[:0]
	case b >= 0x40 && b <= 0x7e:
		if b == 'm' && len(f.held) <= maxSequence && colours(f.held) {
			f.out = append(append(append(f.out, esc, '['), f.held...), 'm')
		}
		f.mode, f.held = inText, f.held[:0]
	case len(f.held) <= maxSequence:
		f.held = append(f.held, b)
	}
}

// colours reports whether the parameters of a sequence are numbers.
func colours(parameters []byte) bool {
	for _, b := range parameters {
		if (b < '0' || b > '9') && b != ';' && b != ':' {
			return false
		}
	}
	return true
}
