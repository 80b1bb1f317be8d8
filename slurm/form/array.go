package form

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of arrays. They are those of Berth's jobs.
const (
	MaxTasks = 10_000  // of an array
	MaxIndex = 999_999 // a task's number
)

// Array is the value of --array.
type Array struct {
	Indices []int // in rising order, each once
	AtOnce  int   // how many tasks run at once at most; 0: all
}

// ParseArray parses numbers and ranges with steps, such as 0-15, 1,3,5-7 or 1-9:2, in brackets or without, and
// after % how many tasks run at once: [0-4]%2.
func ParseArray(text string) (Array, error) {
	const forms = "is no array: write numbers and ranges such as 0-9, 1,3,7 or 0-99:10, and %%N for at most N tasks at once"
	list, most, bounded := strings.Cut(text, "%")
	var a Array
	var err error
	if bounded {
		most = strings.TrimSuffix(most, "]")
		if strings.HasPrefix(list, "[") && !strings.HasSuffix(list, "]") {
			list += "]"
		}
		if a.AtOnce, err = digits(most); err != nil || a.AtOnce == 0 {
			return Array{}, bad(text, "has no valid number after %%: how many tasks run at once, at least 1, as in 0-99%%8")
		}
	}
	if inside, found := strings.CutPrefix(list, "["); found {
		if list, found = strings.CutSuffix(inside, "]"); !found {
			return Array{}, bad(text, "has a [ without a ]")
		}
	}
	for part := range strings.SplitSeq(list, ",") {
		from, to, step, err := parseSteps(part)
		if err != nil {
			return Array{}, bad(text, forms)
		}
		if to > MaxIndex {
			return Array{}, bad(text, "has a task number above %d, the largest one", MaxIndex)
		}
		if len(a.Indices)+(to-from)/step >= MaxTasks {
			return Array{}, bad(text, "has more than %d tasks, the most that an array has", MaxTasks)
		}
		for n := from; n <= to; n += step {
			a.Indices = append(a.Indices, n)
		}
	}
	slices.Sort(a.Indices)
	a.Indices = slices.Compact(a.Indices)
	return a, nil
}

// parseSteps parses 7, 0-99 or 0-99:10.
func parseSteps(part string) (from, to, step int, err error) {
	span, by, stepped := strings.Cut(strings.TrimSpace(part), ":")
	low, high, ranged := strings.Cut(span, "-")
	from, err = digits(low)
	to, step = from, 1
	if err == nil && ranged {
		to, err = digits(high)
	}
	if err == nil && stepped {
		step, err = digits(by)
	}
	if err != nil || to < from || step == 0 || stepped && !ranged {
		return 0, 0, 0, errCount
	}
	return from, to, step, nil
}

// Step returns the distance of the tasks' numbers, as SLURM_ARRAY_TASK_STEP has it: 1 if they have no common one.
func (a Array) Step() int {
	if len(a.Indices) < 2 {
		return 1
	}
	step := a.Indices[1] - a.Indices[0]
	for i := 2; i < len(a.Indices); i++ {
		if a.Indices[i]-a.Indices[i-1] != step {
			return 1
		}
	}
	return step
}

// Berth returns the numbers as Berth's own option --array has them, without brackets and the number after %:
// 0-9, 0-98:2 or 3,7.
func (a Array) Berth() string {
	var b strings.Builder
	for i := 0; i < len(a.Indices); {
		n := run(a.Indices[i:])
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, a.Indices[i])
		if n > 1 {
			fmt.Fprintf(&b, "-%d", a.Indices[i+n-1])
			if step := a.Indices[i+1] - a.Indices[i]; step > 1 {
				fmt.Fprintf(&b, ":%d", step)
			}
		}
		i += n
	}
	return b.String()
}

// run returns how many of the first numbers have one distance and are worth a range.
func run(x []int) int {
	n := 1
	for n < len(x) && x[n]-x[n-1] == x[1]-x[0] {
		n++
	}
	if n == 2 && x[1]-x[0] > 1 {
		return 1
	}
	return n
}
