package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Where restricts the nodes on which something may run; the zero Where allows any.
type Where struct {
	Constraint string // labels that they have or have not, as [Constraint] writes them
	Nodelist   string // only these, as [ParseNodes] lists them
	Exclude    string // none of these, likewise
	User       string // nodes that run jobs of this user, or all if empty; the scheduler fills it in
}

// Compare orders by the four texts.
func (w Where) Compare(o Where) int {
	return cmp.Or(cmp.Compare(w.Constraint, o.Constraint), cmp.Compare(w.Nodelist, o.Nodelist), cmp.Compare(w.Exclude, o.Exclude),
		cmp.Compare(w.User, o.User))
}

// Constraint is terms that a node's labels must meet, all of them, in rising order.
type Constraint []Term

// Term is one of four: zone=a, zone!=a, zone (it has such a label), !zone. A node without the label counts
// like one with another value.
type Term struct {
	Key    string
	Not    bool
	Valued bool // it is about the value
	Value  string
}

// Bounds of a Where.
const (
	maxTerms      = 32
	maxConstraint = 1 << 10 // bytes
	maxNodes      = 256     // of a list
	maxNodesText  = 8 << 10 // bytes
)

// ErrConstraint describes how constraints are written.
var ErrConstraint = errors.New("must be terms such as zone=a, zone!=a, ssd or !spot, joined by commas, at most " +
	strconv.Itoa(maxTerms) + " of them")

// ParseConstraint parses terms that commas, or & as for Slurm, join. Its error wraps [ErrConstraint].
func ParseConstraint(text string) (Constraint, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxConstraint {
		return nil, fmt.Errorf("%w; this is longer than %d bytes", ErrConstraint, maxConstraint)
	}
	var all Constraint
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "&", ","), ",") {
		t, ok := parseTerm(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("%w; not %q", ErrConstraint, Clip(part))
		}
		all = append(all, t)
	}
	slices.SortFunc(all, Term.compare)
	if all = slices.Compact(all); len(all) > maxTerms {
		return nil, fmt.Errorf("%w; these are %d", ErrConstraint, len(all))
	}
	return all, nil
}

func parseTerm(text string) (t Term, ok bool) {
	t.Key, t.Value, t.Valued = strings.Cut(text, "=")
	if t.Valued {
		t.Key, t.Not = strings.CutSuffix(t.Key, "!")
	} else {
		t.Key, t.Not = strings.CutPrefix(t.Key, "!")
	}
	return t, labelKey(t.Key) && labelValue(t.Value)
}

func (t Term) compare(o Term) int { return cmp.Compare(t.String(), o.String()) }

// String returns the term in the syntax of ParseConstraint.
func (t Term) String() string {
	switch {
	case t.Valued && t.Not:
		return t.Key + "!=" + t.Value
	case t.Valued:
		return t.Key + "=" + t.Value
	case t.Not:
		return "!" + t.Key
	}
	return t.Key
}

// String formats the terms in the one way that [ParseConstraint] reads back as the same.
func (c Constraint) String() string {
	parts := make([]string, len(c))
	for i, t := range c {
		parts[i] = t.String()
	}
	return strings.Join(parts, ",")
}

// Meets reports whether labels meet every term.
func (c Constraint) Meets(l Labels) bool {
	for _, t := range c {
		value, found := l.Get(t.Key)
		if t.Valued {
			found = found && value == t.Value
		}
		if found == t.Not {
			return false
		}
	}
	return true
}

// Least returns the fewest labels that meet the terms, if any do.
func (c Constraint) Least() (l Labels) {
	for _, t := range c {
		if _, has := l.Get(t.Key); !t.Not && (t.Valued || !has) {
			l = l.With(Label{Key: t.Key, Value: t.Value})
		}
	}
	return l
}

// ErrNodes describes how nodes are listed.
var ErrNodes = errors.New("must be names of nodes, joined by commas, such as n1,n2 or n[1-4,7], at most " +
	strconv.Itoa(maxNodes) + " of them")

// ParseNodes parses names of nodes that commas join, with ranges of numbers in brackets as Slurm writes them,
// and returns them in rising order. Its error wraps [ErrNodes].
func ParseNodes(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxNodesText {
		return nil, fmt.Errorf("%w; this is longer than %d bytes", ErrNodes, maxNodesText)
	}
	var all []string
	size := 0
	for rest, more := text, true; more; {
		var part string
		part, rest, more = cutName(rest)
		names, ok := expand(part)
		if !ok || len(all)+len(names) > maxNodes {
			return nil, fmt.Errorf("%w; not %q", ErrNodes, Clip(part))
		}
		for _, n := range names {
			size += len(n) + 1
		}
		if all = append(all, names...); size > maxNodesText {
			return nil, fmt.Errorf("%w; this is longer than %d bytes", ErrNodes, maxNodesText)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// cutName cuts a list at its first comma outside of brackets, and reports whether there is one.
func cutName(text string) (part, rest string, found bool) {
	inside := false
	for i, r := range text {
		switch {
		case r == '[':
			inside = true
		case r == ']':
			inside = false
		case r == ',' && !inside:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// expand returns n1, n2 and n7 of "n[1-2,7]".
func expand(part string) (names []string, ok bool) {
	part = strings.TrimSpace(part)
	before, rest, ranged := strings.Cut(part, "[")
	spans, after, closed := strings.Cut(rest, "]")
	if !ranged {
		return []string{part}, Name(part) && !strings.Contains(part, "]")
	}
	if !closed || strings.ContainsAny(after, "[]") {
		return nil, false
	}
	for span := range strings.SplitSeq(spans, ",") {
		low, high, isSpan := strings.Cut(span, "-")
		if !isSpan {
			high = low
		}
		from, err := strconv.ParseUint(low, 10, 32)
		to, err2 := strconv.ParseUint(high, 10, 32)
		if err != nil || err2 != nil || to < from || to-from >= maxNodes || len(names) > maxNodes {
			return nil, false
		}
		for ; from <= to; from++ {
			names = append(names, fmt.Sprintf("%s%0*d%s", before, len(low), from, after))
		}
	}
	return names, !slices.ContainsFunc(names, func(n string) bool { return !Name(n) })
}

// Validate returns a part that is not as this package writes it.
func (w Where) Validate() error {
	if c, err := ParseConstraint(w.Constraint); err != nil || c.String() != w.Constraint {
		return want("constraint", "terms such as zone=a, zone!=a, ssd or !spot, sorted, each once")
	}
	for _, v := range []struct{ field, text string }{{"nodelist", w.Nodelist}, {"exclude", w.Exclude}} {
		if list, err := ParseNodes(v.text); err != nil || strings.Join(list, ",") != v.text {
			return want(v.field, "names of nodes, sorted, each once")
		}
	}
	return nil
}

// String returns the restriction in words, such as "with zone=a, other than n3"; empty: none.
func (w Where) String() string {
	var parts []string
	if w.Constraint != "" {
		parts = append(parts, "with "+strings.ReplaceAll(w.Constraint, ",", " and "))
	}
	if w.Nodelist != "" {
		parts = append(parts, "named "+strings.ReplaceAll(w.Nodelist, ",", " or "))
	}
	if w.Exclude != "" {
		parts = append(parts, "other than "+strings.ReplaceAll(w.Exclude, ",", " and "))
	}
	return strings.Join(parts, ", ")
}

// Sites is a Where prepared for testing many nodes. A nil Sites has all.
type Sites struct {
	meets     Constraint
	only, but []string
	user      string
}

// Sites returns nil if any node will do.
func (w Where) Sites() *Sites {
	if w == (Where{}) {
		return nil
	}
	s := &Sites{user: w.User}
	s.meets, _ = ParseConstraint(w.Constraint) // all were checked when they came
	s.only, _ = ParseNodes(w.Nodelist)
	s.but, _ = ParseNodes(w.Exclude)
	return s
}

// Has reports whether a node is one of the allowed ones.
func (s *Sites) Has(n *Node) bool {
	if s == nil {
		return true
	}
	if !n.Admits(s.user) || len(s.only) > 0 && !slices.Contains(s.only, string(n.ID)) || slices.Contains(s.but, string(n.ID)) {
		return false
	}
	return len(s.meets) == 0 || s.meets.Meets(n.Is())
}
