package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// shape is the form of a value in a file.
type shape uint8

const (
	isScalar shape = iota
	isList
	isPairs
	isPart
)

// Value is the value of a setting: text that is parsed into some variable.
type Value interface {
	// Set parses what was given: one text, or several of a list. Its error describes what is
	// allowed: "must be ...".
	Set(texts []string) error
	// Text formats the value so that Set would parse it.
	Text() string
	// Kind describes the form in a word or two: "duration".
	Kind() string

	shape() shape
}

// scalar is a value of one text.
type scalar[T any] struct {
	to   *T
	kind string
	read func(string) (T, error)
	show func(T) string
}

func (v scalar[T]) Text() string { return v.show(*v.to) }
func (v scalar[T]) Kind() string { return v.kind }
func (v scalar[T]) shape() shape { return isScalar }

func (v scalar[T]) Set(texts []string) error {
	if len(texts) == 0 {
		return fmt.Errorf("must be %s", v.kind)
	}
	got, err := v.read(strings.TrimSpace(texts[len(texts)-1]))
	if err == nil {
		*v.to = got
	}
	return err
}

// Text returns a value for any text, such as a name, an address or a folder; kind names the kind.
func Text(to *string, kind string) Value {
	return scalar[string]{to, kind, func(s string) (string, error) {
		if strings.ContainsRune(s, 0) {
			return "", fmt.Errorf("must be %s without NUL bytes", kind)
		}
		return s, nil
	}, func(s string) string { return s }}
}

// kindSwitch is the kind of a switch.
const kindSwitch = "true or false"

// Switch returns a value for true or false.
func Switch(to *bool) Value {
	return scalar[bool]{to, kindSwitch, func(s string) (bool, error) {
		switch strings.ToLower(s) {
		case "true", "yes", "on", "1":
			return true, nil
		case "false", "no", "off", "0":
			return false, nil
		}
		return false, fmt.Errorf("must be true or false, not %q", s)
	}, strconv.FormatBool}
}

// whole is any type of whole numbers.
type whole interface {
	~int | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64
}

// Number returns a value for a whole number within bounds, of things or units named by kind.
func Number[T whole](to *T, kind string, least, most int64) Value {
	return scalar[T]{to, kind, func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number (%s) from %d to %d, not %q", kind, least, most, s)
		}
		return T(n), nil
	}, func(n T) string { return fmt.Sprint(n) }}
}

// Span returns a value for a time, with its unit, within bounds; zero allows 0 in addition.
func Span(to *time.Duration, least, most time.Duration, zero bool) Value {
	allowed := fmt.Sprintf("%s to %s", Short(least), Short(most))
	if zero {
		allowed = "0, or " + allowed
	}
	return scalar[time.Duration]{to, "duration", func(s string) (time.Duration, error) {
		d, err := span(s)
		switch {
		case err != nil:
			return 0, err
		case d == 0 && zero, d >= least && d <= most:
			return d, nil
		}
		return 0, fmt.Errorf("must be %s, not %q", allowed, s)
	}, Short}
}

// span parses a time. A number alone is refused because it has no unit.
func span(text string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil && text != "0" {
		return 0, fmt.Errorf("must be a time with its unit, such as %ss, %sm or %sh, not %q", text, text, text, text)
	}
	d, err := wire.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("must be a time such as 90s, 1h30m or 7d, not %q", text)
	}
	return d, nil
}

// Short formats a time without units that are zero: 1h, not 1h0m0s.
func Short(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Bytes returns a value for a size in GB of 10⁹ bytes, "50G" or "50"; 0 is kept as 0.
func Bytes(to *int64) Value {
	const most = 1e9 // GB
	return scalar[int64]{to, "GB", func(s string) (int64, error) {
		v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "G"), 64)
		if err != nil || !(v >= 0 && v <= most) {
			return 0, fmt.Errorf("must be a number of GB such as 50G, not %q", s)
		}
		return int64(math.Round(v * 1e9)), nil
	}, func(n int64) string {
		if n == 0 {
			return "0"
		}
		return strconv.FormatFloat(float64(n)/1e9, 'f', -1, 64) + "G"
	}}
}

// Choice returns a value for one of a few words, in which - and _ are the same.
func Choice(to *string, words ...string) Value {
	kind := strings.Join(words, ", ")
	if n := len(words) - 1; n > 0 {
		kind = strings.Join(words[:n], ", ") + " or " + words[n]
	}
	return scalar[string]{to, kind, func(s string) (string, error) {
		word := strings.ReplaceAll(strings.ToLower(s), "-", "_")
		if slices.Contains(words, word) {
			return word, nil
		}
		return "", fmt.Errorf("must be %s, not %q%s", kind, s, meant(word, words))
	}, func(s string) string { return s }}
}

// list is several texts.
type list struct {
	to   *[]string
	kind string
}

// List returns a value for several texts: in a file a list, elsewhere separated by commas.
func List(to *[]string, kind string) Value { return list{to, kind} }

func (v list) Text() string { return strings.Join(*v.to, ",") }
func (v list) Kind() string { return "list of " + v.kind }
func (v list) shape() shape { return isList }

func (v list) Set(texts []string) error {
	var out []string
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	*v.to = out
	return nil
}

// pairs are texts by name.
type pairs struct {
	to   *map[string]string
	kind string
}

// Pairs returns a value for texts by name: in a file a mapping, elsewhere NAME=VALUE,....
func Pairs(to *map[string]string, kind string) Value { return pairs{to, kind} }

func (v pairs) Kind() string { return v.kind }
func (v pairs) shape() shape { return isPairs }

func (v pairs) Text() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(*v.to)) {
		out = append(out, k+"="+(*v.to)[k])
	}
	return strings.Join(out, ",")
}

func (v pairs) Set(texts []string) error {
	out := map[string]string{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			name, value, found := strings.Cut(part, "=")
			name = strings.TrimSpace(name)
			if !found || name == "" {
				return fmt.Errorf("must be %s, not %q", v.kind, part)
			}
			if other, twice := out[name]; twice && other != value {
				return fmt.Errorf("names %s twice", name)
			}
			out[name] = strings.TrimSpace(value)
		}
	}
	*v.to = out
	return nil
}
