package main

import (
	"math"
	"slices"
	"testing"
)

// printed is what berth bench prints, of a version without and one with a column for the kind of client.
const printed = `
### Machine

| what | value |
| ---: | ---: |
| date | 2026-11-29 |

### Submissions over HTTP: median of 1 runs of 3s

| clients | sent to | a second | lowest | highest | p50 | p99 | CPU each | refused |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 1 | any peer | 501 | 478 | 502 | 1.93 ms | 4.07 ms | 2530 µs | 0 |
| 64 | the leader | 6,087 | 5,658 | 6,100 | 9.86 ms | 23.58 ms | 271 µs | 0 |

### Failover: kill -9 of the leader to the first accepted submission, 20 trials

| trials | least | p50 | p99 | most |
| ---: | ---: | ---: | ---: | ---: |
| 20 | 300 ms | 510 ms | 830 ms | 830 ms |

### A long queue

| queued | leader's memory | a follower's |
| ---: | ---: | ---: |
| 0 | 43.5 MiB | 40.0 MiB |
`

// TestFiguresAreFound checks that figures are read from the output of berth bench, and that one that was not measured has no value.
func TestFiguresAreFound(t *testing.T) {
	t.Parallel()
	want := map[string]float64{
		"submissions a second, 64 clients, at the leader": 6087,
		"a submission at one client, at any peer, p50":    1.93e-3,
		"CPU of a submission, 64 clients, at the leader":  271e-6,
		"failover, p50":                   0.51,
		"failover, longest":               0.83,
		"leader's memory, nothing queued": 43.5 * (1 << 20),
	}
	tables := tablesOf(printed)
	for _, f := range compared() {
		got, found := f.in(tables)
		if v, measured := want[f.what]; found != measured || math.Abs(got-v) > 1e-9*v {
			t.Errorf("%s: %v, found: %t; it should be %v", f.what, got, found, v)
		}
		delete(want, f.what)
	}
	if len(want) > 0 {
		t.Errorf("not compared: %v", want)
	}
}

// TestRatios checks the table: medians, and the spread of the ratios of each round.
func TestRatios(t *testing.T) {
	t.Parallel()
	var values [2][][]float64
	for i := range values {
		values[i] = make([][]float64, len(compared()))
	}
	values[0][0], values[1][0] = []float64{1000, 2000, 4000}, []float64{2000, 1000, 4000}
	values[0][2] = []float64{2.5e-3} // not measured now
	got := ratios(&setup{runs: 3, versus: versus{base: "abc"}}, values)
	if want := []string{got.Rows[0][0], "2,000", "2,000", "1.00", "0.50", "2.00"}; !slices.Equal(got.Rows[0], want) {
		t.Errorf("%q; it should be %q", got.Rows[0], want)
	}
	if want := []string{got.Rows[2][0], "2.50 ms", "none", "", "", ""}; !slices.Equal(got.Rows[2], want) {
		t.Errorf("%q; it should be %q", got.Rows[2], want)
	}
}
