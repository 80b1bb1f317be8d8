package model

import (
	"math/bits"
	"time"
)

// ErrorSteps is how many steps of a prediction's error are a factor of two.
const ErrorSteps = 64

// PredictionError returns the error of a prediction of a run time: the factor by which it was too long or too
// short, as steps of which [ErrorSteps] are a factor of two. Times shorter than a second count as one. near:
// by a factor of two at most.
func PredictionError(predicted, took time.Duration) (steps uint64, near bool) {
	long, short := max(predicted, took, time.Second), max(min(predicted, took), time.Second)
	return log2(long) - log2(short), long/2 <= short
}

// log2 returns the logarithm of a time in milliseconds to the base 2, in steps. Squaring a number from 1 to 2
// doubles its logarithm, and shows that one's next digit.
func log2(d time.Duration) uint64 {
	v := uint64(d / time.Millisecond)
	whole := bits.Len64(v) - 1
	out := uint64(whole)
	x := v << (63 - whole)
	for step := 1; step < ErrorSteps; step *= 2 {
		high, _ := bits.Mul64(x, x)
		digit := high >> 63
		x = high << (1 - digit)
		out = 2*out + digit
	}
	return out
}
