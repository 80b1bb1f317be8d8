package words

import (
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/slurm/hostlist"
)

// Compress returns names in the form of a list, each once and sorted by their numbers.
func Compress(names []string) string {
	names = slices.Clone(names)
	slices.SortFunc(names, ByNumber)
	return hostlist.Compress(slices.Compact(names))
}

// ByNumber compares names so that node9 comes before node10.
func ByNumber(a, b string) int {
	headA, headB := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if headA == headB {
		x, errX := strconv.ParseUint(a[len(headA):], 10, 64)
		y, errY := strconv.ParseUint(b[len(headB):], 10, 64)
		if errX == nil && errY == nil && x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return strings.Compare(a, b)
}

// Model returns the name of a model of GPUs as one word, such as a100 for NVIDIA A100-SXM4-40GB and rtx_4090 for NVIDIA GeForce RTX 4090:
// without makers, sizes of memory and sockets. Empty: there is none, or a choice of several.
func Model(model string) string {
	if strings.Contains(model, "|") {
		return ""
	}
	var parts []string
	for _, part := range strings.FieldsFunc(strings.ToLower(model), func(c rune) bool { return c == ' ' || c == '-' || c == '_' }) {
		digit := strings.IndexFunc(part, func(c rune) bool { return c >= '0' && c <= '9' })
		switch {
		case slices.Contains([]string{"nvidia", "tesla", "geforce", "quadro", "amd", "instinct", "radeon", "intel", "graphics", "pcie", "nvl"}, part),
			digit > 0 && slices.Contains([]string{"sxm", "hbm"}, strings.TrimRight(part, "0123456789e")), digit == 0 && strings.HasSuffix(part, "gb"):
			continue
		}
		parts = append(parts, clean(part))
	}
	return strings.Join(parts, "_")
}

// clean replaces signs that Slurm's lists have a meaning for.
func clean(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.':
			return c
		}
		return '_'
	}, text)
}

// Unique returns words, each once, in the order in which they come first.
func Unique(words []string) (out []string) {
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// List returns names in Slurm's form.
func List(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return Compress(names)
}

// Minutes returns the delay of a dependency as it follows the job, +5, of seconds; empty: none.
func Minutes(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return "+" + strconv.FormatFloat(seconds/60, 'f', 0, 64)
}
