// Package hostlist expands and compresses lists of node names in Slurm's form, such as node[1-2,05-07],login,
// and lists of counts, such as 2(x2),1. The results are those of Slurm's commands "scontrol show hostnames" and
// "scontrol show hostlist".
//
//berth:single
package hostlist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of a list. They are those of Slurm.
const (
	MaxNames  = 65_536  // names of one list
	MaxLength = 4 << 20 // bytes of a list, as text and expanded
	maxDigits = 18      // of a number in brackets, or at the end of a name
)

// ErrList is what each error of this package wraps.
var ErrList = errors.New("node list")

// Expand returns the names of a list, in the order of the list and with its repetitions. Names are separated by
// commas or blanks. Brackets hold numbers and ranges: node[1-2,05-07] is node1 node2 node05 node06 node07. The
// width of the first number of a range is kept. A name may have several brackets; the last one changes fastest.
// A list without a name has none. The error wraps [ErrList] and quotes what is wrong.
func Expand(list string) ([]string, error) {
	if len(list) > MaxLength {
		return nil, fmt.Errorf("%w: this is %d bytes long; at most %d are read", ErrList, len(list), MaxLength)
	}
	var all []string
	size := 0
	for rest := list; rest != ""; {
		var part string
		var err error
		if part, rest, err = cut(rest); err != nil {
			return nil, err
		}
		if part == "" {
			continue
		}
		names, err := expand(part, MaxNames-len(all), MaxLength-size)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			size += len(name)
		}
		all = append(all, names...)
	}
	return all, nil
}

// cut cuts a list after its first name.
func cut(list string) (part, rest string, err error) {
	open := -1
	for i := range len(list) {
		switch c := list[i]; {
		case c == '[' && open >= 0:
			return "", "", fmt.Errorf("%w: %q has a [ inside of brackets; close the first one with ]", ErrList, clip(list))
		case c == '[':
			open = i
		case c == ']' && open < 0:
			return "", "", fmt.Errorf("%w: %q has a ] without a [ before it", ErrList, clip(list))
		case c == ']':
			open = -1
		case open < 0 && separates(c):
			return list[:i], list[i+1:], nil
		}
	}
	if open >= 0 {
		return "", "", fmt.Errorf("%w: %q has a [ without a ]", ErrList, clip(list))
	}
	return list, "", nil
}

func separates(c byte) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' }

// expand returns the names of one part of a list, at most so many of so many bytes.
func expand(part string, most, bytes int) ([]string, error) {
	names := []string{""}
	for rest := part; rest != ""; {
		before, after, ranged := strings.Cut(rest, "[")
		numbers := []string{""}
		var err error
		if ranged {
			var inside string
			inside, after, _ = strings.Cut(after, "]") // cut has seen that there is one
			if numbers, err = expandNumbers(inside, part); err != nil {
				return nil, err
			}
		}
		rest = after
		if len(names)*len(numbers) > most {
			return nil, tooMany(part)
		}
		var longer []string
		size := 0
		for _, name := range names {
			for _, number := range numbers {
				longer = append(longer, name+before+number)
				if size += len(name) + len(before) + len(number); size > bytes {
					return nil, fmt.Errorf("%w: the names are longer than %d bytes", ErrList, MaxLength)
				}
			}
		}
		names = longer
	}
	if len(names) > most {
		return nil, tooMany(part)
	}
	return names, nil
}

func tooMany(part string) error {
	return fmt.Errorf("%w: with %q there are more than %d names", ErrList, clip(part), MaxNames)
}

// expandNumbers returns the numbers of what stands in brackets, with their zeros.
func expandNumbers(inside, part string) ([]string, error) {
	var all []string
	for span := range strings.SplitSeq(inside, ",") {
		low, high, isSpan := strings.Cut(strings.TrimSpace(span), "-")
		if !isSpan {
			high = low
		}
		from, err := number(low)
		to, err2 := number(high)
		if err != nil || err2 != nil {
			return nil, fmt.Errorf("%w: %q in %q must be a number or a range such as 1-8", ErrList, clip(span), clip(part))
		}
		if to < from {
			return nil, fmt.Errorf("%w: the range %q in %q ends before it begins", ErrList, clip(span), clip(part))
		}
		if to-from >= MaxNames || len(all) > MaxNames {
			return nil, tooMany(part)
		}
		for n := from; n <= to; n++ {
			all = append(all, pad(n, len(low)))
		}
	}
	return all, nil
}

var errNumber = errors.New("not a number")

// number parses digits, and nothing else.
func number(text string) (uint64, error) {
	if text == "" || len(text) > maxDigits || strings.Trim(text, "0123456789") != "" {
		return 0, errNumber
	}
	return strconv.ParseUint(text, 10, 64)
}

// pad writes a number with zeros in front, at least so many digits.
func pad(n uint64, width int) string {
	text := strconv.FormatUint(n, 10)
	return strings.Repeat("0", max(width-len(text), 0)) + text
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
