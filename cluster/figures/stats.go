package figures

import (
	"math"
	"slices"
	"time"
)

// Percentile returns the smallest value that at least p percent of the values do not exceed; 0
// without values. It sorts the values.
func Percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	rank := int(math.Ceil(p / 100 * float64(len(values))))
	return values[min(max(rank, 1), len(values))-1]
}

// Spread returns the median, the least and the most of some runs.
func Spread(values []float64) (median, least, most float64) {
	if len(values) == 0 {
		return 0, 0, 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1]
}

// Median returns the middle value, or the mean of the two in the middle; 0 without values.
func Median(values []float64) float64 {
	median, _, _ := Spread(values)
	return median
}

// At returns a percentile of some times in milliseconds, see [Percentile].
func At(values []time.Duration, p float64) string { return Millis(Percentile(values, p)) }
