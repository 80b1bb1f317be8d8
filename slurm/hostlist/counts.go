package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

// CompressCounts returns counts in the form of SLURM_TASKS_PER_NODE: 2, 2, 1 is 2(x2),1.
func CompressCounts(counts []int) string {
	var b strings.Builder
	for i := 0; i < len(counts); {
		n := 1
		for i+n < len(counts) && counts[i+n] == counts[i] {
			n++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(counts[i]))
		if n > 1 {
			fmt.Fprintf(&b, "(x%d)", n)
		}
		i += n
	}
	return b.String()
}

// ExpandCounts returns the counts of a text as [CompressCounts] writes it: 2(x2),1 is 2, 2, 1. There are at most
// [MaxNames] of them. The error wraps [ErrCount] and quotes what is wrong.
func ExpandCounts(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		count, repeated, isRepeated := strings.Cut(part, "(x")
		n, err := strconv.ParseUint(count, 10, 31)
		times := uint64(1)
		if isRepeated && err == nil {
			inside, closed := strings.CutSuffix(repeated, ")")
			if times, err = strconv.ParseUint(inside, 10, 31); !closed || times == 0 {
				err = errNumber
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %q must be a number, or a number and how often, such as 2(x4)", ErrCount, clip(part))
		}
		if times > uint64(MaxNames-len(all)) {
			return nil, fmt.Errorf("%w: with %q there are more than %d counts", ErrCount, clip(part), MaxNames)
		}
		for range times {
			all = append(all, int(n))
		}
	}
	return all, nil
}
