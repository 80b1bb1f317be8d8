package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

func percent(v float64) *float64 { return &v }

// Utilization is drawn step by step; what a node says that makes no sense does no harm.
func TestShowHistory(t *testing.T) {
	h := &wire.NodeHistory{Node: "n1\x1b[2J", From: time.Now(), StepSeconds: 15, Steps: 6, GPUs: []wire.GPUHistory{
		{Index: 0, Points: []wire.GPUPoint{
			{Step: 1, UtilizationPercent: percent(0), MemoryUsedGB: 1, TemperatureCelsius: 30, PowerWatts: 100},
			{Step: 2, UtilizationPercent: percent(50), MemoryUsedGB: 9, TemperatureCelsius: 60, PowerWatts: 300},
			{Step: 4, UtilizationPercent: percent(100), MemoryUsedGB: 2, TemperatureCelsius: 50, PowerWatts: 200},
		}},
		{Index: 1, Points: []wire.GPUPoint{{Step: 5, TemperatureCelsius: -4}}},
		{Index: 2},
	}}
	var out strings.Builder
	if err := showHistory(&out, h); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"15s PER CHARACTER", "·▁▅·█·", "······", "······"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q in it", i, lines[i], want)
		}
	}
	if got := strings.Join(strings.Fields(lines[1])[2:], " "); got != "50% 100% 9.0 60°C 200 W" {
		t.Errorf("summed up: %q", got)
	}
	if strings.ContainsRune(out.String(), '\x1b') || !strings.Contains(lines[2], "-4°C") {
		t.Errorf("%q", out.String())
	}
	odd := wire.GPUHistory{Points: []wire.GPUPoint{
		{Step: -1, UtilizationPercent: percent(50)},
		{Step: 1 << 40, UtilizationPercent: percent(50)},
		{Step: 0, UtilizationPercent: percent(-7)},
		{Step: 1, UtilizationPercent: percent(1e9)},
	}}
	if got := draw(&odd, 3); got != "▁█·" {
		t.Errorf("drawn: %q", got)
	}
	if got := draw(&odd, -5); got != "" {
		t.Errorf("drawn in less than nothing: %q", got)
	}
}
