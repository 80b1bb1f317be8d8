//go:build linux && cgo

package nvml

import (
	"os"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// The driver, the modes of GPUs and the processes on them are described; a GPU that cannot be read is there, with the reason.
func TestAbout(t *testing.T) {
	h := newHost(t)
	for i, c := range h.cards {
		c.GetPersistenceModeFunc = func() (nvml.EnableState, nvml.Return) { return nvml.EnableState(i % 2), nvml.SUCCESS }
		c.GetEccModeFunc = func() (nvml.EnableState, nvml.EnableState, nvml.Return) {
			return nvml.FEATURE_ENABLED, nvml.FEATURE_ENABLED, nvml.SUCCESS
		}
	}
	h.cards[2].GetEccModeFunc = func() (nvml.EnableState, nvml.EnableState, nvml.Return) { return 0, 0, nvml.ERROR_NOT_SUPPORTED }
	h.cards[0].change(func(c *card) { c.processes = []nvml.ProcessInfo{{Pid: uint32(os.Getpid()), UsedGpuMemory: 1 << 30}} })
	h.cards[3].change(func(c *card) { c.ret = nvml.ERROR_GPU_IS_LOST })
	about, err := newProbe(h.Server, Options{}).About()
	if err != nil || len(about.Cards) != 8 || about.Driver == "" {
		t.Fatalf("%+v, %v", about, err)
	}
	first, second, third, lost := about.Cards[0], about.Cards[1], about.Cards[2], about.Cards[3]
	if first.Persistence != "off" || second.Persistence != "on" || first.ECC != "on" || third.ECC != "" {
		t.Errorf("modes: %+v, %+v, %+v", first, second, third)
	}
	if len(first.Processes) != 1 || first.Processes[0].PID != int32(os.Getpid()) || len(second.Processes) != 0 {
		t.Errorf("processes: %+v, %+v", first.Processes, second.Processes)
	}
	if lost.Err == nil {
		t.Errorf("a lost GPU: %+v", lost)
	}
}
