package bench

import (
	"math"
	"slices"
	"time"
)

// percentile returns the smallest value that at least p percent of the values do not exceed; 0
// without values. It sorts the values.
func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	rank := int(math.Ceil(p / 100 * float64(len(values))))
	return values[min(max(rank, 1), len(values))-1]
}

// spread returns the median, the least and the most of some runs.
func spread(values []float64) (median, least, most float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1]
}
