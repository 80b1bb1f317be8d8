package sched_test

import (
	"fmt"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/forecast"
)

// A forecast costs as much as its bounds allow, however many wait and however large the cluster is:
// some tenths of a second where the scheduler is played on, and less where it is not.
func BenchmarkForesee(b *testing.B) {
	for _, nodes := range []int{2, 8, 40, 200, 2000} {
		for _, jobs := range []int{20, 200, 2000} {
			b.Run(fmt.Sprintf("nodes=%d/queued=%d", nodes, jobs), func(b *testing.B) {
				c := fairlyFull(b, nodes, jobs, true)
				for b.Loop() {
					forecast.Foresee(&c.State, c.Now)
				}
			})
		}
	}
}
