package sched_test

import (
	"slices"
	"testing"

	"github.com/berth-gpu/berth/cluster/sched/schedtest"
	"github.com/berth-gpu/berth/fsm/model"
)

// Parts of GPUs (MIG) are GPUs with a model and a memory of their own. A gang that may
// have any GPUs gets such as NVLink joins, and not parts of one, which it does not.
func TestPartsOfGPUs(t *testing.T) {
	const slice = "H100 MIG 1g.10gb"
	for _, v := range []struct {
		name string
		spec model.Spec
		want []string
	}{
		{"parts by their model", schedtest.Spec("amy", 2, 1, func(s *model.Spec) { s.GPUModel = slice }), []string{"1: n1[0 1]"}},
		{"whole ones by their model", schedtest.Spec("amy", 2, 1, func(s *model.Spec) { s.GPUModel = "H100" }), []string{"1: n1[4 5]"}},
		{"either", schedtest.Spec("amy", 6, 1, func(s *model.Spec) { s.GPUModel = "H100|" + slice }), []string{"1: n1[0 1 2 3 4 5]"}},
		{"by memory", schedtest.Spec("amy", 1, 0, func(s *model.Spec) { s.GPUMemoryMB = 20_000 }), []string{"1: n1[4]"}},
		{"more parts than there are", schedtest.Spec("amy", 5, 1, func(s *model.Spec) { s.GPUModel = slice }), nil},
		{"whatever is near", schedtest.Spec("amy", 2, 1), []string{"1: n1[4 5]"}},
	} {
		schedtest.BothWays(t, func(t *testing.T, c *schedtest.Cluster) {
			c.Node("n1", 6, "H100", func(d *model.Device) {
				d.MemoryMB, d.Link, d.NUMA = 80_000, "nvswitch-0", 1
				if d.Index < 4 { // two parts each of two GPUs
					d.ID, d.Model, d.MemoryMB, d.Link, d.NUMA = "MIG-"+d.ID, slice, 10_000, "", 0
				}
			})
			c.Submit(v.spec, 1, 0)
			if got := c.Drawn(); !slices.Equal(got, v.want) {
				t.Errorf("%s: %q, want %q", v.name, got, v.want)
			}
			c.Plan()
		})
	}
}
