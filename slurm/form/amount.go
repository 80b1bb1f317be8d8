package form

import (
	"strconv"
	"strings"
)

// MaxMemory is the largest amount of memory, in MiB: 1 EiB.
const MaxMemory = 1 << 40

const memoryForms = "is no amount of memory: write a whole number of MiB, or one with K, M, G or T, such as 32000, 64G or 1536M"

// ParseMemory returns an amount of memory in MiB. A number without a unit is MiB; K, M, G and T, with or without a
// B after them, are powers of 1024; K is rounded up to whole MiB. 0 means all memory of a node.
func ParseMemory(text string) (int64, error) {
	number := strings.TrimRight(text, "KMGTBkmgtb")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || strings.HasPrefix(number, "+") {
		return 0, bad(text, "%s", memoryForms)
	}
	most, scale := int64(MaxMemory), int64(1)
	switch strings.ToUpper(text[len(number):]) {
	case "", "M", "MB":
	case "K", "KB":
		most, n = MaxMemory, n/1024+min(n%1024, 1)
	case "G", "GB":
		scale = 1 << 10
	case "T", "TB":
		scale = 1 << 20
	default:
		return 0, bad(text, "%s", memoryForms)
	}
	if n > most/scale {
		return 0, bad(text, "is too much memory: at most %dT", MaxMemory>>20)
	}
	return n * scale, nil
}

// FormatMemory returns an amount of memory as Slurm prints it: 32000M is 32000M, 65536 MiB are 64G.
func FormatMemory(mib int64) string {
	unit := "MGT"
	for mib >= 1024 && mib%1024 == 0 && len(unit) > 1 {
		mib, unit = mib/1024, unit[1:]
	}
	return strconv.FormatInt(mib, 10) + unit[:1]
}

// NodeCount is a number of nodes, or the bounds of one.
type NodeCount struct {
	Min int // at least 1
	Max int // at least Min
}

// ParseNodes parses N or MIN-MAX. A number may have the suffix k for 1024 or m for 1024 x 1024.
func ParseNodes(text string) (NodeCount, error) {
	const forms = "is no number of nodes: write N, or MIN-MAX such as 2-4"
	if strings.ContainsAny(text, ",:") {
		return NodeCount{}, bad(text, "is a list of sizes, which Berth does not have: write N, or MIN-MAX such as 2-4")
	}
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	least, err := nodes(low)
	if err != nil {
		return NodeCount{}, bad(text, forms)
	}
	most, err := nodes(high)
	switch {
	case err != nil:
		return NodeCount{}, bad(text, forms)
	case least == 0:
		return NodeCount{}, bad(text, "is no number of nodes: a job has at least one")
	case most < least:
		return NodeCount{}, bad(text, "is no number of nodes: the least number is above the greatest")
	}
	return NodeCount{Min: least, Max: most}, nil
}

func nodes(text string) (int, error) {
	scale := 1
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'k', 'K':
			text, scale = text[:n-1], 1<<10
		case 'm', 'M':
			text, scale = text[:n-1], 1<<20
		}
	}
	n, err := digits(text)
	if err != nil || n > MaxCount/scale {
		return 0, errCount
	}
	return n * scale, nil
}
