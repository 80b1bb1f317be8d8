//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/node/gpu/judge"
)

// On a host with GPUs they are the ones that nvidia-smi shows, measuring about the
// same.
func TestRealGPUs(t *testing.T) {
	p := New(Options{})
	devices, err := p.List()
	if errors.Is(err, ErrMissing) {
		t.Skip("needs a host with an NVIDIA driver")
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("nvidia-smi", "--query-gpu=uuid,pci.bus_id,name,memory.total,temperature.gpu,memory.used,mig.mode.current",
		"--format=csv,noheader,nounits").Output()
	if err != nil {
		t.Skipf("needs nvidia-smi, which failed: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if strings.Contains(string(out), "Enabled") {
		t.Skip("needs GPUs that are not divided by MIG: nvidia-smi lists the whole, Berth the parts")
	}
	if len(lines) != len(devices) {
		t.Fatalf("%d devices, and nvidia-smi shows\n%s", len(devices), out)
	}
	for i, line := range lines {
		f := strings.Split(line, ", ")
		d, l := devices[i], p.Look(devices[i].ID, time.Now())
		if got := fmt.Sprint(d.ID, d.PCI, d.Model, d.MemoryMB); got != fmt.Sprint(f[0], f[1], f[2], f[3]) {
			t.Errorf("device %+v, nvidia-smi: %s", d, line)
		}
		var celsius, used int
		if _, err := fmt.Sscan(f[4], &celsius); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(f[5], &used); err != nil {
			t.Fatal(err)
		}
		if l.Trouble != judge.TroubleNone || max(celsius-int(l.Temperature), int(l.Temperature)-celsius) > 10 ||
			max(used-int(l.Point.MemoryUsedMB), int(l.Point.MemoryUsedMB)-used) > 2048 {
			t.Errorf("look %+v, nvidia-smi: %s", l, line)
		}
	}
}
