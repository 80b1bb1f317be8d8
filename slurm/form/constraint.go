package form

import (
	"strconv"
	"strings"
)

// ConstraintKind is a kind of a node of the tree of a constraint.
type ConstraintKind int

// The kinds of nodes.
const (
	Feature ConstraintKind = iota // one feature, perhaps with a number of nodes
	And                           // a node has all
	Or                            // a node has one of them
	OneOf                         // [a|b]: all nodes of the job have the same one
	Counted                       // [a*2&b*4]: so many nodes of each
)

// Constraint is the tree of a --constraint.
type Constraint struct {
	Kind  ConstraintKind
	Name  string       // of a Feature
	Nodes int          // of a Feature: so many nodes must have it; 0: all
	Parts []Constraint // of the other kinds
}

// Bounds of a constraint.
const (
	maxConstraint   = 1024 // bytes
	maxParts        = 64   // features
	maxAlternatives = 64
)

// ParseConstraint parses features that & (or a comma) and | join, with parentheses, numbers of nodes (a*2), and
// brackets: [a|b]. Without parentheses, & and | are carried out from left to right, as Slurm does.
func ParseConstraint(text string) (Constraint, error) {
	p := &constraintParser{all: text, rest: text}
	if len(text) > maxConstraint {
		return Constraint{}, bad(text, "is longer than %d bytes", maxConstraint)
	}
	c, err := p.expression()
	if err == nil && p.rest != "" {
		err = p.wrong("has %q where & or | is expected", p.rest[:1])
	}
	if err != nil {
		return Constraint{}, err
	}
	return c, nil
}

// constraintParser reads a constraint from left to right.
type constraintParser struct {
	all, rest string
	features  int
}

func (p *constraintParser) wrong(format string, args ...any) error {
	return bad(p.all, "is no constraint: the text "+format+"; write features such as a100, a&b, a|b or [a|b]", args...)
}

// take skips one character if it is next.
func (p *constraintParser) take(c byte) bool {
	p.rest = strings.TrimLeft(p.rest, " \t")
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *constraintParser) expression() (Constraint, error) {
	c, err := p.operand()
	for err == nil {
		kind := And
		switch {
		case p.take('&'), p.take(','):
		case p.take('|'):
			kind = Or
		default:
			return c, nil
		}
		var next Constraint
		if next, err = p.operand(); err != nil {
			break
		}
		if c.Kind == kind && kind != Feature {
			c.Parts = append(c.Parts, next)
		} else {
			c = Constraint{Kind: kind, Parts: []Constraint{c, next}}
		}
	}
	return c, err
}

func (p *constraintParser) operand() (Constraint, error) {
	switch {
	case p.take('('):
		return p.group(')')
	case p.take('['):
		c, err := p.group(']')
		if err != nil {
			return c, err
		}
		return bracketed(c), nil
	default:
		return p.feature()
	}
}

// group reads what stands in parentheses or brackets.
func (p *constraintParser) group(end byte) (Constraint, error) {
	if p.features++; p.features > maxParts { // bounds the depth, too
		return Constraint{}, p.wrong("has more than %d parts", maxParts)
	}
	c, err := p.expression()
	if err == nil && !p.take(end) {
		err = p.wrong("has no %q where one is expected", string(end))
	}
	return c, err
}

// bracketed returns the meaning of an expression in brackets.
func bracketed(c Constraint) Constraint {
	counted := c.Kind == Feature && c.Nodes > 0
	for _, part := range c.Parts {
		counted = counted || part.Nodes > 0
	}
	switch {
	case c.Kind == Or && !counted:
		c.Kind = OneOf
	case counted && c.Kind == Feature:
		return Constraint{Kind: Counted, Parts: []Constraint{c}}
	case counted:
		c.Kind = Counted
	}
	return c
}

func (p *constraintParser) feature() (Constraint, error) {
	if p.features++; p.features > maxParts {
		return Constraint{}, p.wrong("has more than %d parts", maxParts)
	}
	p.take(' ')
	name := p.rest
	if at := strings.IndexFunc(name, func(r rune) bool { return !inFeature(r) }); at >= 0 {
		name = name[:at]
	}
	if p.rest = p.rest[len(name):]; name == "" {
		if p.rest == "" {
			return Constraint{}, p.wrong("ends where a feature is expected")
		}
		return Constraint{}, p.wrong("has %q where a feature is expected", p.rest[:1])
	}
	c := Constraint{Kind: Feature, Name: name}
	if p.take('*') {
		number := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
		p.rest = p.rest[len(number):]
		n, err := digits(number)
		if err != nil || n == 0 {
			return Constraint{}, p.wrong("has no number of nodes after *")
		}
		c.Nodes = n
	}
	return c, nil
}

// inFeature reports whether a feature's name may have the character; ! and = are those of Berth's labels.
func inFeature(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-:/+=!", r)
}

// String returns the constraint as [ParseConstraint] reads it, with all parentheses.
func (c Constraint) String() string {
	if c.Kind == Feature {
		if c.Nodes > 0 {
			return c.Name + "*" + strconv.Itoa(c.Nodes)
		}
		return c.Name
	}
	parts := make([]string, len(c.Parts))
	for i, part := range c.Parts {
		if parts[i] = part.String(); part.Kind == And || part.Kind == Or {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	switch c.Kind {
	case Or:
		return strings.Join(parts, "|")
	case OneOf:
		return "[" + strings.Join(parts, "|") + "]"
	case Counted:
		return "[" + strings.Join(parts, "&") + "]"
	case Feature, And:
	}
	return strings.Join(parts, "&")
}

// Berth returns the constraint on labels of nodes that means the same to Berth: a&b is a,b. There is none for
// alternatives and for numbers of nodes.
func (c Constraint) Berth() (string, error) {
	alternatives, err := c.Alternatives()
	if err != nil {
		return "", err
	}
	if len(alternatives) > 1 {
		return "", bad(c.String(), "allows several kinds of nodes, and a constraint of Berth has one: choose one of them, "+
			"or, where they stand for models of GPUs, write --gres=gpu:MODEL:N")
	}
	return strings.Join(alternatives[0], ","), nil
}

// Alternatives returns sets of features, one of which the nodes must have: for (a|b)&c a,c and b,c. Numbers of
// nodes (a*2) have no such form. [a|b] and a|b are alike: for a job of one node they mean the same.
func (c Constraint) Alternatives() ([][]string, error) {
	switch c.Kind {
	case Feature:
		if c.Nodes > 0 {
			return nil, bad(c.String(), "asks for a feature on some of the nodes; Berth's constraints hold for all nodes of a job: leave out the * and its number")
		}
		return [][]string{{c.Name}}, nil
	case Counted:
		return nil, bad(c.String(), "asks for numbers of nodes with different features; Berth's constraints hold for all nodes of a job: submit a job for each kind")
	case Or, OneOf:
		var all [][]string
		for _, part := range c.Parts {
			list, err := part.Alternatives()
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
		return all, nil
	case And:
	}
	all := [][]string{nil}
	for _, part := range c.Parts {
		list, err := part.Alternatives()
		if err != nil {
			return nil, err
		}
		if len(list)*len(all) > maxAlternatives {
			return nil, bad(c.String(), "has more than %d combinations", maxAlternatives)
		}
		var next [][]string
		for _, a := range all {
			for _, b := range list {
				next = append(next, append(append([]string(nil), a...), b...))
			}
		}
		all = next
	}
	return all, nil
}
