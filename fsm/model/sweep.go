package model

import (
	"slices"
	"strconv"
	"strings"
)

// Sweep is a grid of parameters: one task of an array for each combination of
// their values.
type Sweep []Axis

// Axis is one parameter and the values that it takes.
type Axis struct {
	Name  string
	spans []span
	size  uint32
}

// span is a value as it was written, or the numbers of a range.
type span struct {
	text       string
	from, step int64
	size       uint32
}

// Param is a parameter's value in one task.
type Param struct{ Name, Value string }

const maxParamName = 64

// ParseSweep parses a sweep: a line for each parameter, its name and its values as in "lr=1e-3,1e-4". A value
// "1..5" stands for 1, 2, 3, 4, 5, and "0..10:5" for 0, 5, 10. A backslash escapes what follows it, for a
// comma, a point or a backslash within a value. The grid has at most MaxTasks combinations.
func ParseSweep(text string) (Sweep, error) {
	if len(text) > MaxSweep {
		return nil, want("params", "at most %d bytes", MaxSweep)
	}
	var s Sweep
	size := uint32(1)
	for line := range strings.SplitSeq(text, "\n") {
		a, err := parseAxis(line)
		if err != nil {
			return nil, err
		}
		for _, other := range s {
			if other.Name == a.Name {
				return nil, want("params", "different: %s is given twice", a.Name)
			}
		}
		if size *= a.size; size > MaxTasks {
			return nil, want("params", "a grid of at most %d tasks", MaxTasks)
		}
		s = append(s, a)
	}
	return s, nil
}

func parseAxis(line string) (Axis, error) {
	name, list, given := strings.Cut(line, "=")
	if !given || list == "" || !EnvName(name) || len(name) > maxParamName || !Text(list, MaxSweep) {
		return Axis{}, want("params", "NAME=VALUE,VALUE,... on one line, with names of letters, digits and _ that begin with no digit")
	}
	a := Axis{Name: name}
	for _, text := range splitValues(list) {
		v := parseValues(text)
		if a.size += v.size; a.size > MaxTasks {
			return Axis{}, want("params", "a grid of at most %d tasks", MaxTasks)
		}
		a.spans = append(a.spans, v)
	}
	return a, nil
}

// splitValues splits at commas that no backslash precedes.
func splitValues(list string) (out []string) {
	from := 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '\\':
			i++
		case ',':
			out = append(out, list[from:i])
			from = i + 1
		}
	}
	return append(out, list[from:])
}

// parseValues parses a value, or a range such as "1..5" or "0..10:5", whose numbers have at most 32 bits. A
// range of more than MaxTasks numbers counts as one more.
func parseValues(text string) span {
	first, rest, found := strings.Cut(text, "..")
	last, by, stepped := strings.Cut(rest, ":")
	if !stepped {
		by = "1"
	}
	from, err := strconv.ParseInt(first, 10, 32)
	to, err2 := strconv.ParseInt(last, 10, 32)
	step, err3 := strconv.ParseInt(by, 10, 32)
	if !found || err != nil || err2 != nil || err3 != nil || step <= 0 || from > to {
		return span{text: unescape(text), size: 1}
	}
	return span{from: from, step: step, size: uint32(min((to-from)/step, MaxTasks)) + 1}
}

func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Len returns the number of combinations, at most MaxTasks.
func (s Sweep) Len() uint32 {
	n := uint32(1)
	for i := range s {
		n *= s[i].size
	}
	return n
}

// At returns the n-th combination, from 0: the last parameter's values change fastest; nil if there are not
// so many.
func (s Sweep) At(n uint32) []Param {
	if n >= s.Len() {
		return nil
	}
	out := make([]Param, len(s))
	for i, a := range slices.Backward(s) {
		out[i] = Param{a.Name, a.at(n % a.size)}
		n /= a.size
	}
	return out
}

func (a *Axis) at(n uint32) string {
	for i := range a.spans {
		v := &a.spans[i]
		switch {
		case n >= v.size:
			n -= v.size
		case v.step > 0:
			return strconv.FormatInt(v.from+int64(n)*v.step, 10)
		default:
			return v.text
		}
	}
	return ""
}

// Params returns the parameters of one task of a sweep; nil if the job is not a sweep.
func (s *Spec) Params(task uint32) []Param {
	if s.Sweep == "" {
		return nil
	}
	grid, err := ParseSweep(s.Sweep)
	if err != nil {
		return nil
	}
	return grid.At(task)
}

// String returns "name=value".
func (p Param) String() string { return p.Name + "=" + p.Value }

// EnvName reports whether s can name an environment variable: letters, digits and _,
// with no digit first.
func EnvName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// validGrid checks the array's numbers and the sweep.
func validGrid(s *Spec) error {
	if s.Array != "" {
		x, err := ParseIndices(s.Array)
		if err != nil {
			return &Problem{"array_indices", strings.TrimPrefix(err.Error(), "must be ")}
		}
		if x.String() != s.Array {
			return want("array_indices", "written as %s", Clip(x.String()))
		}
	}
	if s.Sweep == "" {
		return nil
	}
	grid, err := ParseSweep(s.Sweep)
	if err != nil {
		return err
	}
	x, err := ParseIndices(s.Array)
	if err != nil || x[len(x)-1] >= grid.Len() {
		return want("array_indices", "some of 0-%d with these params", grid.Len()-1)
	}
	return nil
}

// validDates checks the instants.
func (s *Spec) validDates() error {
	switch {
	case s.Begin < 0:
		return want("begin", "a time after 1970")
	case s.Deadline < 0:
		return want("deadline", "a time after 1970")
	case s.Deadline > 0 && s.Deadline <= s.Begin:
		return want("deadline", "after begin")
	}
	return nil
}

// Count returns how many tasks the spec's array has; 0 if unset.
func (s *Spec) Count() int {
	if s.Array == "" {
		return 0
	}
	x, err := ParseIndices(s.Array)
	if err != nil {
		return 0
	}
	return len(x)
}

// CheckSweep returns a part of a valid sweep that was hardly meant: a malformed range that would be one
// value, an empty value, or a repeated one. It is for new sweeps: older ones are read as they were.
func CheckSweep(text string) error {
	for line := range strings.SplitSeq(text, "\n") {
		a, err := parseAxis(line)
		if err != nil {
			return err
		}
		name, list, _ := strings.Cut(line, "=")
		for _, v := range splitValues(list) {
			first, rest, ranged := strings.Cut(v, "..")
			_, err = strconv.ParseFloat(first, 64)
			switch {
			case v == "":
				return want("params", "values that are not empty: %s has one; give it a name, such as none", name)
			case ranged && err == nil && parseValues(v).step == 0:
				return want("params", `ranges of rising whole numbers such as 1..5 or 0..10:5, of 32 bits: %s=%s is none; as text it is written %s\..%s`,
					name, Clip(v), Clip(first), Clip(rest))
			}
		}
		seen := map[string]bool{}
		for n := range a.size {
			v := a.at(n)
			if seen[v] {
				return want("params", "different values: %s is given %s twice", name, Clip(v))
			}
			seen[v] = true
		}
	}
	return nil
}
