package hostlist

import (
	"strings"
)

// span is names that differ in the number at their end.
type span struct {
	prefix   string
	low      uint64
	high     uint64
	width    int
	numbered bool // else the name is the prefix alone
}

// Compress returns the shortest list that Slurm writes for names in this order: node1, node2, node05 is
// node[1-2,05]. The order and repetitions are kept: [Expand] returns the same names again. Only the number at
// the end of a name is put in brackets. Empty names are left out; a name must not have brackets, commas or blanks.
func Compress(names []string) string {
	var b strings.Builder
	spans := join(names)
	for i := 0; i < len(spans); {
		n := 1
		for i+n < len(spans) && spans[i].numbered && spans[i+n].numbered && spans[i+n].prefix == spans[i].prefix {
			n++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		write(&b, spans[i:i+n])
		i += n
	}
	return b.String()
}

// write writes spans that have one prefix.
func write(b *strings.Builder, spans []span) {
	b.WriteString(spans[0].prefix)
	if !spans[0].numbered {
		return
	}
	brackets := len(spans) > 1 || spans[0].low != spans[0].high
	if brackets {
		b.WriteByte('[')
	}
	for i, s := range spans {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pad(s.low, s.width))
		if s.low != s.high {
			b.WriteByte('-')
			b.WriteString(pad(s.high, s.width))
		}
	}
	if brackets {
		b.WriteByte(']')
	}
}

// join merges names whose numbers follow each other.
func join(names []string) []span {
	var spans []span
	for _, name := range names {
		if name == "" {
			continue
		}
		s := split(name)
		if last := len(spans) - 1; last >= 0 && s.numbered && spans[last].numbered &&
			spans[last].prefix == s.prefix && spans[last].high+1 == s.low {
			if width, ok := common(spans[last], s); ok {
				spans[last].high, spans[last].width = s.high, width
				continue
			}
		}
		spans = append(spans, s)
	}
	return spans
}

// split cuts a name before the number at its end.
func split(name string) span {
	prefix := strings.TrimRight(name, "0123456789")
	digits := name[len(prefix):]
	n, err := number(digits)
	if err != nil {
		return span{prefix: name}
	}
	return span{prefix: prefix, low: n, high: n, width: len(digits), numbered: true}
}

// common returns a width with which both spans are written as they are.
func common(a, b span) (width int, ok bool) {
	for _, w := range []int{a.width, b.width} {
		if alike(a, w) && alike(b, w) {
			return w, true
		}
	}
	return 0, false
}

// alike reports whether a span is written alike with another width.
func alike(s span, width int) bool {
	return pad(s.low, width) == pad(s.low, s.width) && pad(s.high, width) == pad(s.high, s.width)
}
