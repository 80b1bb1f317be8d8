package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AllTasks in place of a task's number means every task of the job.
const AllTasks = -1

// Indices are the numbers of an array's tasks, or of some of them: at most
// MaxTasks different numbers up to MaxIndex, in rising order.
type Indices []uint32

// ErrIndices describes how indices are written.
var ErrIndices = errors.New("must be numbers and ranges such as 0-99, 0-99:10 or 3,7,9-12, at most " +
	strconv.Itoa(MaxTasks) + " of them up to " + strconv.Itoa(MaxIndex))

// FirstIndices returns the first n: 0 to n-1. n must be 0 to MaxTasks.
func FirstIndices(n uint32) Indices {
	x := make(Indices, min(n, MaxTasks))
	for i := range x {
		x[i] = uint32(i)
	}
	return x
}

// ParseIndices parses numbers and ranges, which may have a step and overlap: "0-99", "0-99:10", "3,7,9-12".
// Its error is [ErrIndices], or wraps it.
func ParseIndices(text string) (Indices, error) {
	if len(text) > MaxIndices {
		return nil, fmt.Errorf("%w; this is longer than %d bytes", ErrIndices, MaxIndices)
	}
	var x Indices
	for part := range strings.SplitSeq(text, ",") {
		from, to, step, err := parseSpan(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if len(x)+int((to-from)/step) >= MaxTasks {
			return nil, ErrIndices
		}
		for n := from; n <= to; n += step {
			x = append(x, n)
		}
	}
	slices.Sort(x)
	return slices.Compact(x), nil
}

// parseSpan reads "7", "0-99" or "0-99:10".
func parseSpan(text string) (from, to, step uint32, err error) {
	span, by, stepped := strings.Cut(text, ":")
	first, last, isSpan := strings.Cut(span, "-")
	from, err = parseIndex(first)
	to, step = from, 1
	if err == nil && isSpan {
		to, err = parseIndex(last)
	}
	if err == nil && stepped {
		step, err = parseIndex(by)
	}
	if err != nil || from > to || step == 0 || stepped && !isSpan {
		return 0, 0, 0, fmt.Errorf("%w; not %q", ErrIndices, Clip(text))
	}
	return from, to, step, nil
}

func parseIndex(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > MaxIndex {
		return 0, ErrIndices
	}
	return uint32(n), nil
}

// Has reports whether n is one of the numbers.
func (x Indices) Has(n uint32) bool {
	_, found := slices.BinarySearch(x, n)
	return found
}

// String formats the numbers in the one way that [ParseIndices] reads back as the same: "0-99:10,200"; empty
// without numbers.
func (x Indices) String() string {
	var b strings.Builder
	for i := 0; i < len(x); {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		n := x.run(i)
		b.WriteString(strconv.FormatUint(uint64(x[i]), 10))
		if n > 1 {
			fmt.Fprintf(&b, "-%d", x[i+n-1])
			if step := x[i+1] - x[i]; step > 1 {
				fmt.Fprintf(&b, ":%d", step)
			}
		}
		i += n
	}
	return b.String()
}

// run returns how many numbers from the i-th on have one distance and are worth a range.
func (x Indices) run(i int) int {
	n := 1
	for i+n < len(x) && x[i+n]-x[i+n-1] == x[i+1]-x[i] {
		n++
	}
	if n == 2 && x[i+1]-x[i] > 1 {
		return 1
	}
	return n
}
