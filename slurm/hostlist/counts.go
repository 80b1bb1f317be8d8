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
