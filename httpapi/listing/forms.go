package listing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/httpapi/strict"
)

// Texts is a filter for entries that have one of several texts, separated by commas.
func Texts[R any](get func(R) string) func(string) (func(R) bool, error) {
	return func(text string) (func(R) bool, error) {
		list, err := items(text)
		list = append(list, text) // which may have a comma in it
		return func(r R) bool { return slices.Contains(list, get(r)) }, err
	}
}

// Words is [Texts] for a field that can have the known values only, in upper or lower case.
func Words[R any](get func(R) string, known ...string) func(string) (func(R) bool, error) {
	return func(text string) (func(R) bool, error) {
		list, err := items(strings.ToLower(text))
		if err != nil {
			return nil, err
		}
		for _, word := range list {
			if !slices.Contains(known, word) {
				return nil, fmt.Errorf("%s", strict.Unknown(word, "one of its values", known))
			}
		}
		return func(r R) bool { return slices.Contains(list, get(r)) }, nil
	}
}

// Pattern is a filter for entries with a text that a pattern matches as a whole, in which * is any text.
func Pattern[R any](get func(R) string) func(string) (func(R) bool, error) {
	return func(pattern string) (func(R) bool, error) {
		parts := strings.Split(pattern, "*")
		return func(r R) bool { return like(get(r), parts) }, nil
	}
}

// like reports whether a text consists of parts with any text between them.
func like(text string, parts []string) bool {
	first, rest := parts[0], parts[1:]
	text, found := strings.CutPrefix(text, first)
	for i := 0; found && i < len(rest); i++ {
		if i == len(rest)-1 {
			return strings.HasSuffix(text, rest[i])
		}
		_, text, found = strings.Cut(text, rest[i])
	}
	return found && (len(rest) > 0 || text == "")
}

// Search is a filter for entries of which any text contains a text, in upper or lower case.
func Search[R any](get func(R) []string) func(string) (func(R) bool, error) {
	return func(text string) (func(R) bool, error) {
		text = strings.ToLower(text)
		return func(r R) bool {
			return slices.ContainsFunc(get(r), func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
		}, nil
	}
}

// Flag is a filter for entries in which something is true or false.
func Flag[R any](get func(R) bool) func(string) (func(R) bool, error) {
	return func(text string) (func(R) bool, error) {
		want, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("must be true or false, not %q", text)
		}
		return func(r R) bool { return get(r) == want }, nil
	}
}

// span is the numbers from one to another, with both.
type span struct{ from, to int64 }

// Numbers is a filter for entries with one of several numbers, such as 4, 1,3, 2-8 or 8-.
func Numbers[R any](get func(R) int64) func(string) (func(R) bool, error) {
	return func(text string) (func(R) bool, error) {
		list, err := items(text)
		if err != nil {
			return nil, err
		}
		spans := make([]span, 0, len(list))
		for _, item := range list {
			s, ok := spanOf(item)
			if !ok {
				return nil, fmt.Errorf("must be numbers such as 4, 1,3, 2-8, 8- or -8, not %q", item)
			}
			spans = append(spans, s)
		}
		return func(r R) bool {
			n := get(r)
			return slices.ContainsFunc(spans, func(s span) bool { return s.from <= n && n <= s.to })
		}, nil
	}
}

// spanOf parses 4, 2-8, 8- or -8.
func spanOf(text string) (s span, ok bool) {
	from, to, is := strings.Cut(text, "-")
	if !is {
		to = from
	}
	s.to = 1<<63 - 1
	var err1, err2 error
	if from != "" {
		s.from, err1 = strconv.ParseInt(from, 10, 64)
	}
	if to != "" {
		s.to, err2 = strconv.ParseInt(to, 10, 64)
	}
	return s, err1 == nil && err2 == nil && (from != "" || to != "") && s.from <= s.to
}

// items splits a list at its commas.
func items(text string) ([]string, error) {
	list := strings.Split(text, ",")
	for i := range list {
		if list[i] = strings.TrimSpace(list[i]); list[i] == "" {
			return nil, fmt.Errorf("has an empty item: %q", text)
		}
	}
	return list, nil
}
