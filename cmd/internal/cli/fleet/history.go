package fleet

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// historySteps is the width of a GPU's utilization graph, in characters.
const historySteps = 60

// showHistory draws what a node's GPUs measured.
func showHistory(w io.Writer, h *wire.NodeHistory) error {
	step := time.Duration(h.StepSeconds * float64(time.Second))
	t := table.New(">GPU", fmt.Sprintf("UTIL, %s PER CHARACTER", step), ">MEAN", ">NOW", ">MOST MEM GB", ">MOST TEMP", ">MEAN POWER")
	for _, g := range h.GPUs {
		line, v := draw(&g, int(min(h.Steps, historySteps))), summarize(g.Points)
		t.Add(append([]string{strconv.FormatInt(g.Index, 10), line}, v...)...)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "From %s on %s. A dot is a time without measurements.\n", h.From.Local().Format("15:04:05"), table.Clean(h.Node))
	return err
}

// draw returns a GPU's utilization as one character a step, the oldest first.
func draw(g *wire.GPUHistory, steps int) string {
	const bars = "▁▂▃▄▅▆▇█"
	heights := []rune(bars)
	line := make([]rune, max(steps, 0))
	for i := range line {
		line[i] = '·'
	}
	for _, p := range g.Points {
		if p.Step >= 0 && p.Step < int64(len(line)) && p.UtilizationPercent != nil {
			at := int(*p.UtilizationPercent / 100 * float64(len(heights)))
			line[p.Step] = heights[max(0, min(at, len(heights)-1))]
		}
	}
	return string(line)
}

// summarize returns the mean and the last utilization, the highest memory use and temperature, and
// the mean power; empty where nothing was measured.
func summarize(points []wire.GPUPoint) []string {
	if len(points) == 0 {
		return []string{"", "", "", "", ""}
	}
	var sum, measured, memory, power float64
	hottest, last := points[0].TemperatureCelsius, ""
	for _, p := range points {
		if last = ""; p.UtilizationPercent != nil {
			sum, measured = sum+*p.UtilizationPercent, measured+1
			last = fmt.Sprintf("%.0f%%", *p.UtilizationPercent)
		}
		memory, hottest, power = max(memory, p.MemoryUsedGB), max(hottest, p.TemperatureCelsius), power+p.PowerWatts
	}
	mean := ""
	if measured > 0 {
		mean = fmt.Sprintf("%.0f%%", sum/measured)
	}
	return []string{mean, last, fmt.Sprintf("%.1f", memory), fmt.Sprintf("%.0f°C", hottest), fmt.Sprintf("%.0f W", power/float64(len(points)))}
}
