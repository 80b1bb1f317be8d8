package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Label is a label of a node, such as zone=a. Gone means that the node lacks it, whatever its agent reports.
type Label struct {
	Key, Value string
	Gone       bool
}

// Labels are different labels in rising order of their keys.
type Labels []Label

// Bounds of a node's labels.
const (
	maxLabels     = 64      // of a node
	MaxLabelsText = 4 << 10 // bytes of them, as text
	maxLabelPart  = 63      // bytes of a key, and of a value
)

// ErrLabels describes how labels are written.
var ErrLabels = errors.New("must be labels such as zone=a or ssd, at most " + strconv.Itoa(maxLabels) +
	": a key of letters, digits and _./- that begins and ends with a letter or digit, and a value of letters, digits and _./:-, each of at most " +
	strconv.Itoa(maxLabelPart) + " bytes")

// ParseLabels parses labels that commas separate: "zone=a" sets one, "ssd" one without a value, "zone-"
// removes one; of one key the last counts. Its error wraps [ErrLabels].
func ParseLabels(text string) (Labels, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > MaxLabelsText {
		return nil, fmt.Errorf("%w; these are longer than %d bytes", ErrLabels, MaxLabelsText)
	}
	var all Labels
	for part := range strings.SplitSeq(text, ",") {
		v := Label{}
		var valued bool
		if v.Key, v.Value, valued = strings.Cut(part, "="); !valued {
			v.Key, v.Gone = strings.CutSuffix(part, "-")
		}
		if !labelKey(v.Key) || !labelValue(v.Value) {
			return nil, fmt.Errorf("%w; not %q", ErrLabels, Clip(part))
		}
		all = all.With(v)
	}
	if len(all) > maxLabels {
		return nil, fmt.Errorf("%w; these are %d", ErrLabels, len(all))
	}
	return all, nil
}

// With returns the labels with one more, in place of that of the same key.
func (l Labels) With(v Label) Labels {
	i, found := l.find(v.Key)
	out := slices.Clone(l)
	if found {
		out[i] = v
		return out
	}
	return slices.Insert(out, i, v)
}

// Without returns the labels except for that of a key.
func (l Labels) Without(key string) Labels {
	return slices.DeleteFunc(slices.Clone(l), func(v Label) bool { return v.Key == key })
}

// Get returns the value of a key; false if there is no such label, or it is gone.
func (l Labels) Get(key string) (string, bool) {
	i, found := l.find(key)
	if !found || l[i].Gone {
		return "", false
	}
	return l[i].Value, true
}

func (l Labels) find(key string) (int, bool) {
	return slices.BinarySearchFunc(l, key, func(v Label, key string) int { return cmp.Compare(v.Key, key) })
}

// String returns the label in the syntax of ParseLabels.
func (v Label) String() string {
	switch {
	case v.Gone:
		return v.Key + "-"
	case v.Value == "":
		return v.Key
	}
	return v.Key + "=" + v.Value
}

// String formats the labels in the one way that [ParseLabels] reads back as the same.
func (l Labels) String() string {
	parts := make([]string, len(l))
	for i, v := range l {
		parts[i] = v.String()
	}
	return strings.Join(parts, ",")
}

// Is returns a node's effective labels: those of its agent, overridden by an operator's.
func (n *Node) Is() Labels {
	all, _ := ParseLabels(n.Labels) // both were checked when they came
	marks, _ := ParseLabels(n.Marks)
	for _, v := range marks {
		all = all.With(v)
	}
	return slices.DeleteFunc(all, func(v Label) bool { return v.Gone })
}

func labelKey(s string) bool {
	return s != "" && len(s) <= maxLabelPart && alphanumeric(s[0]) && alphanumeric(s[len(s)-1]) && labelBytes(s, "_./-")
}

func labelValue(s string) bool { return len(s) <= maxLabelPart && labelBytes(s, "_./:-") }

func labelBytes(s, more string) bool {
	for i := range len(s) {
		if !alphanumeric(s[i]) && strings.IndexByte(more, s[i]) < 0 {
			return false
		}
	}
	return true
}

func alphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
