package simulate

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// sample is the state of a run from an instant on.
type sample struct {
	at      float64 // hours
	busy    float64 // GPUs
	waiting float64 // GPUs that waiting jobs ask for
}

// The picture's measures.
const (
	plotWidth  = 1000
	plotHeight = 180
	plotLeft   = 70
	plotTop    = 34
	plotRow    = plotTop + plotHeight + 46 // a chart with its title and ticks
	plotPoints = 2000                      // at most: the rest is left out evenly
	plotTicks  = 8                         // at most, of an axis
)

// scale holds the tops of the axes of a picture.
type scale struct {
	hours         float64
	used, waiting axis
}

// axis goes from 0 to its top, with a tick at each step.
type axis struct{ top, step float64 }

// scaleOf returns a scale on which runs can be compared: the cluster's GPUs, the longest queue and
// the longest run.
func scaleOf(results []*Result) scale {
	var hours, gpus, most float64
	for _, r := range results {
		hours, gpus = max(hours, r.Makespan/3600), max(gpus, float64(r.gpus))
		for _, v := range r.samples {
			most = max(most, v.waiting)
		}
	}
	used := axis{gpus, 1}
	for used.top/used.step > 5 { // as GPUs come, in powers of two
		used.step *= 2
	}
	step := max(rounded(most/5), 1)
	return scale{max(hours, 1e-9), used, axis{max(math.Ceil(most/step)*step, 1), step}}
}

// rounded returns the least of 1, 2, 5, 10, 20, ... that is not below a value.
func rounded(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(least, 1e-9))))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= least {
			return n * power
		}
	}
	return 10 * power
}

// HTML returns a self-contained page, without scripts, of runs of one trace: a table of their
// figures, and the picture of [SVG] of each simulated run.
func HTML(results []*Result) []byte {
	var out bytes.Buffer
	out.WriteString(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>berth simulate</title>
<style>
body { font-family: sans-serif; margin: 2em auto; max-width: 1100px }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: 0.2em 0.8em; border-bottom: 1px solid #ccc }
th:first-child, td:first-child { text-align: left }
svg { width: 100%; height: auto }
</style></head><body>
<h1>berth simulate</h1>
<table><tr><th>policy</th><th>jobs</th><th>utilisation while loaded, %</th><th>mean completion, s</th><th>mean wait, s</th><th>99 % wait at most, s</th><th>longest wait, h</th>` +
		"<th>makespan, h</th><th>suspended</th></tr>\n")
	for _, r := range results {
		used := "-" // jobs never asked for all GPUs
		if r.Loaded > 0 {
			used = fmt.Sprintf("%.1f", r.Utilization)
		}
		fmt.Fprintf(&out, "<tr><td>%s</td><td>%d</td><td>%s</td><td>%.0f</td><td>%.0f</td><td>%.0f</td><td>%.1f</td><td>%.1f</td><td>%d</td></tr>\n",
			html.EscapeString(r.Policy), r.Jobs, used, r.AvgJCT, r.AvgWait, r.P99Wait, r.MaxWait, r.Makespan/3600, r.Preemptions)
	}
	out.WriteString("</table>\n")
	shared := scaleOf(results)
	for _, r := range results {
		if len(r.samples) > 0 {
			fmt.Fprintf(&out, "<h2>%s</h2>\n", html.EscapeString(r.Policy))
			draw(&out, r, shared)
		}
	}
	out.WriteString("</body></html>\n")
	return out.Bytes()
}

// SVG returns a picture of how many GPUs were busy, and how many more were waited for, over time.
func SVG(r *Result) []byte {
	var out bytes.Buffer
	draw(&out, r, scaleOf([]*Result{r}))
	return out.Bytes()
}

func draw(out *bytes.Buffer, r *Result, to scale) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#333">`,
		plotLeft+plotWidth+40, 2*plotRow)
	fmt.Fprintf(out, "\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	chart(out, r, 0, fmt.Sprintf("GPUs in use, of %d", r.gpus), "#2a7", to, to.used, func(v sample) float64 { return v.busy })
	most := 0.0
	for _, v := range r.samples {
		most = max(most, v.waiting)
	}
	title := fmt.Sprintf("GPUs that waiting jobs ask for, at most %.0f", most)
	if most == 0 {
		title = "GPUs that waiting jobs ask for: no job waited"
	}
	chart(out, r, plotRow, title, "#c52", to, to.waiting, func(v sample) float64 { return v.waiting })
	out.WriteString("</svg>\n")
}

// chart draws one figure of a run over time, from a place downwards.
func chart(out *bytes.Buffer, r *Result, top int, title, color string, to scale, y axis, value func(sample) float64) {
	floor := float64(top + plotTop + plotHeight)
	across := func(hours float64) float64 { return plotLeft + hours/to.hours*plotWidth }
	up := func(v float64) float64 { return floor - v/max(y.top, 1)*plotHeight }
	fmt.Fprintf(out, "<text x=\"%d\" y=\"%d\" font-size=\"14\">%s: %s</text>\n", plotLeft, top+plotTop-12, html.EscapeString(r.Policy), title)
	for v := 0.0; v < y.top+y.step/2; v += y.step {
		v = min(v, y.top)
		fmt.Fprintf(out, "<path stroke=\"#ddd\" d=\"M%d,%.1fh%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>\n",
			plotLeft, up(v), plotWidth, plotLeft-8, up(v)+4, v)
	}
	fmt.Fprintf(out, "<text transform=\"rotate(-90)\" x=\"%.1f\" y=\"16\" text-anchor=\"middle\">GPUs</text>\n", plotHeight/2-floor)
	unit, hours := unitOf(to.hours)
	step := rounded(to.hours / hours / plotTicks)
	for v := 0.0; v*hours <= to.hours*1.0001; v += step {
		fmt.Fprintf(out, "<path stroke=\"#999\" d=\"M%.1f,%.1fv5\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
			across(v*hours), floor, across(v*hours), floor+18, math.Round(v*1000)/1000)
	}
	fmt.Fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", plotLeft+plotWidth/2, floor+34, unit)
	fmt.Fprintf(out, "<path fill=\"%s\" fill-opacity=\"0.2\" stroke=\"%s\" d=\"M%d,%.1f", color, color, plotLeft, floor)
	every := max(len(r.samples)/plotPoints, 1)
	for i := 0; i < len(r.samples); i += every {
		fmt.Fprintf(out, "H%.1fV%.1f", across(r.samples[i].at), up(value(r.samples[i])))
	}
	fmt.Fprintf(out, "H%.1fV%.1f\"/>\n", across(r.Makespan/3600), floor)
	fmt.Fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n", plotLeft, top+plotTop, plotWidth, plotHeight)
}

// unitOf returns the unit of a time axis, and its length in hours.
func unitOf(hours float64) (name string, each float64) {
	switch {
	case hours > 72:
		return "days", 24
	case hours > 3:
		return "hours", 1
	case hours > 0.05:
		return "minutes", 1.0 / 60
	}
	return "seconds", 1.0 / 3600
}
