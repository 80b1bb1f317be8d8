// Package strict parses JSON bodies and queries strictly: what would otherwise be ignored is an error,
// so that a request never does or shows more than was asked for.
//
//berth:single
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Parser parses JSON objects strictly into structs of one type: every name is one of the struct's,
// spelled exactly and given once, and no value is empty that would then count as not given, see
// [New].
type Parser[T any] struct {
	names []string
	empty map[string]string // fields that may be empty, by name; see tagEmpty
	table map[string]Field  // by name; nil: the tags of the struct describe the fields
}

// tagEmpty is the tag of fields that may be empty: "text" for a text, and "items" for the items of
// a list; "never" requires a list to have items.
const tagEmpty = "empty"

// New returns a parser for one type. A blank text, or a blank item of a list, is refused
// unless the field's tag allows it: a variable of the client that is not set would widen the
// request. An empty list means none, and null that no value is given.
func New[T any]() Parser[T] {
	t := reflect.TypeFor[T]()
	s := Parser[T]{names: make([]string, 0, t.NumField()), empty: map[string]string{}}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s.names = append(s.names, name)
		if tag, given := f.Tag.Lookup(tagEmpty); given {
			s.empty[name] = tag
		}
	}
	return s
}

// Decode parses a body. Its error names the field, and never a value.
func (s Parser[T]) Decode(body []byte) (*T, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, problem.Refuse(wire.CodeMalformed, "the body is missing: send a JSON object")
	}
	if !utf8.Valid(body) {
		return nil, problem.Refuse(wire.CodeMalformed, "the body is not UTF-8")
	}
	out := new(T)
	if err := json.Unmarshal(body, out); err != nil {
		return nil, s.blame(body, err)
	}
	if err := checkNames(body, s.names); err != nil {
		return nil, err
	}
	if err := s.checkEmpty(body); err != nil {
		return nil, err
	}
	if at := wire.HalfCharacter(body); at >= 0 {
		return nil, problem.Invalid(Clip(nameBefore(body, at)), "must not contain half a character: "+string(body[at:at+6])+" is one half of a surrogate pair")
	}
	return out, nil
}

// checkEmpty refuses blank texts, and lists with blank items, where the tag does not allow them.
func (s Parser[T]) checkEmpty(body []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return problem.Refuse(wire.CodeMalformed, "the body must be a JSON object")
	}
	for _, name := range s.names {
		raw, tag := bytes.TrimSpace(fields[name]), s.empty[name]
		if len(raw) == 0 {
			continue
		}
		switch raw[0] {
		case '"':
			if tag != "text" && isBlank(raw) {
				return problem.Invalid(name, "must not be empty: leave it out, or check whether a variable is unset")
			}
		case '[':
			var list []json.RawMessage
			if err := json.Unmarshal(raw, &list); err != nil {
				return problem.Refuse(wire.CodeMalformed, "the body is not JSON: "+err.Error())
			}
			if len(list) == 0 && tag == "never" {
				return problem.Invalid(name, "must not be an empty list: leave it out, or check whether a variable is unset")
			}
			if tag != "items" && slices.ContainsFunc(list, isBlank) {
				return problem.Invalid(name, "must not contain an empty text: leave it out, or check whether a variable is unset")
			}
		}
	}
	return nil
}

// isBlank reports whether a JSON value is a blank text. Nearly all texts begin with a letter, and are not parsed.
func isBlank(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c == '\\' || c >= utf8.RuneSelf { // may stand for a space
			break
		}
		if c > ' ' {
			return false
		}
	}
	var text string
	return json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) == ""
}

// blame returns which part of a body cannot be parsed. It parses field by field to find the one at
// fault, since types that parse themselves do not report their place.
func (s Parser[T]) blame(body []byte, err error) error {
	if _, is := errors.AsType[*json.SyntaxError](err); is {
		return problem.Refuse(wire.CodeMalformed, "the body is not JSON: "+err.Error())
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return problem.Refuse(wire.CodeMalformed, "the body must be a JSON object")
	}
	for _, name := range s.names {
		raw, given := fields[name]
		if !given {
			continue
		}
		one, err := json.Marshal(map[string]json.RawMessage{name: raw})
		if err != nil {
			continue
		}
		if err := json.Unmarshal(one, new(T)); err != nil {
			return problem.Invalid(name, wrongType(err)+s.boundsOf(name))
		}
	}
	return problem.Refuse(wire.CodeMalformed, "a value of the body has the wrong type")
}

// wrongType returns what a value should have been.
func wrongType(err error) string {
	e, is := errors.AsType[*json.UnmarshalTypeError](err)
	if !is {
		return err.Error()
	}
	switch e.Type.Kind() {
	case reflect.String:
		return "must be text"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int64:
		return "must be a whole number"
	case reflect.Float64:
		return "must be a number"
	case reflect.Slice:
		return "must be a list of texts"
	case reflect.Map:
		return "must be an object of texts"
	}
	return "has the wrong type"
}

// checkNames checks the names in valid JSON: those of the object itself must be known, and no
// object may contain a name twice.
func checkNames(body []byte, known []string) error {
	w := walk{data: body}
	for w.next() {
		name := w.name
		switch {
		case w.depth == 1 && !slices.Contains(known, name):
			return problem.Refuse(wire.CodeInvalid, "the body has an unknown field", unknownField(known, name))
		case w.twice():
			return problem.Refuse(wire.CodeMalformed, "the body has a duplicate name",
				wire.FieldDetail{Field: Clip(name), Message: "is given more than once"})
		}
	}
	if !w.object {
		return problem.Refuse(wire.CodeMalformed, "the body must be a JSON object")
	}
	return nil
}

// nameBefore returns the name in an object that is the last one up to an offset.
func nameBefore(body []byte, offset int) string {
	name := "the body"
	for w := (walk{data: body}); w.next() && w.from <= offset; {
		name = w.name
	}
	return name
}

// unknownField returns an error with the name that was perhaps meant.
func unknownField(known []string, name string) wire.FieldDetail {
	plain := strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", "")
	for _, k := range known {
		if strings.EqualFold(strings.ReplaceAll(k, "_", ""), plain) {
			return wire.FieldDetail{Field: Clip(name), Message: "is not a field; did you mean " + k + "?"}
		}
	}
	return wire.FieldDetail{Field: Clip(name), Message: "is not a field"}
}

// Clip shortens a name of a client to a length for errors.
func Clip(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// walk visits the names in valid JSON.
type walk struct {
	data   []byte
	at     int
	depth  int
	object bool // the outermost value is an object
	name   string
	from   int // the offset of the name
	levels []level
}

// level is one open object or list.
type level struct {
	names []string            // the first few
	more  map[string]struct{} // all of them, once there are many
}

// few is up to how many names are quicker to compare than to look up.
const few = 16

// next goes to the next name of any object.
func (w *walk) next() bool {
	for w.at < len(w.data) {
		switch c := w.data[w.at]; c {
		case '{', '[':
			w.object = w.object || w.depth == 0 && c == '{'
			w.levels = append(w.levels, level{})
			w.depth++
		case '}', ']':
			w.depth--
			w.levels = w.levels[:w.depth]
		case '"':
			if from, text := w.at, w.text(); w.isName() {
				w.from, w.name = from, plain(text)
				return true
			}
			continue
		}
		w.at++
	}
	return false
}

// text skips a text and returns it with its quotes.
func (w *walk) text() []byte {
	from := w.at
	for w.at++; w.data[w.at] != '"'; w.at++ {
		if w.data[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.data[from:w.at]
}

// isName reports whether the text just passed is a name: what follows is a colon.
func (w *walk) isName() bool {
	for i := w.at; i < len(w.data); i++ {
		switch w.data[i] {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return w.data[i] == ':'
	}
	return false
}

// plain returns a text without quotes and escapes.
func plain(text []byte) string {
	if !bytes.ContainsRune(text, '\\') {
		return string(text[1 : len(text)-1])
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return string(text)
	}
	return s
}

// twice records the name and reports whether its object has had it before.
func (w *walk) twice() bool {
	l := &w.levels[w.depth-1]
	if l.more == nil {
		if slices.Contains(l.names, w.name) {
			return true
		}
		if l.names = append(l.names, w.name); len(l.names) > few {
			l.more = map[string]struct{}{}
			for _, n := range l.names {
				l.more[n] = struct{}{}
			}
		}
		return false
	}
	_, had := l.more[w.name]
	l.more[w.name] = struct{}{}
	return had
}

// mayBeEmpty reports whether an empty parameter has a meaning: an empty note, or the first page.
func mayBeEmpty(name string) bool { return name == "note" || name == "before" || name == "after" }

// Query wraps a handler with parameters in the query. It refuses what would otherwise be
// ignored, so that the request would do or show more than was asked for: a parameter without a
// value, one that is given twice, and what cannot be decoded.
func Query(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f := checkQuery(r.URL.RawQuery); f != nil {
			f.Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func checkQuery(raw string) *problem.Failure {
	if raw == "" {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return problem.Refuse(wire.CodeInvalid, "the query cannot be read: write % as %25, and ; as %3B")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := query[name]
		switch field := Clip(name); {
		case !utf8.ValidString(name) || !utf8.ValidString(values[0]):
			return problem.Invalid(strings.ToValidUTF8(field, "?"), "must be UTF-8")
		case len(values) > 1:
			return problem.Invalid(field, "must be given once")
		case strings.TrimSpace(values[0]) == "" && !mayBeEmpty(name):
			return problem.Invalid(field, "must not be empty: leave it out, or check whether a variable is unset")
		}
	}
	return nil
}

// Bodiless wraps a handler of writes without a body: any field of a body is unknown there, and is
// refused as elsewhere.
func Bodiless(log *slog.Logger, next http.Handler) http.Handler {
	empty := New[struct{}]()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && len(bytes.TrimSpace(body)) > 0 {
			_, err = empty.Decode(body)
		}
		if err != nil {
			problem.Of(log, err).Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
