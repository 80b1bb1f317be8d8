package simulate

import (
	"bytes"
	"fmt"
	"html"
)

// sample is how a run stood from an instant on.
type sample struct {
	at      float64 // hours
	busy    float64 // GPUs
	waiting float64 // GPUs that waiting jobs ask for
}

// The picture's measures.
const (
	plotWidth  = 1000
	plotHeight = 180
	plotMargin = 50
	plotPoints = 2000 // at most: the rest is left out evenly
)

// HTML is a page by itself, without scripts, of runs of one trace: their figures beside each
// other, and of each that was played what [SVG] draws.
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
<table><tr><th>policy</th><th>jobs</th><th>utilisation while loaded, %</th><th>mean completion, s</th><th>mean wait, s</th><th>99 % wait less than, s</th><th>longest wait, h</th>` +
		"<th>makespan, h</th><th>suspended</th></tr>\n")
	for _, r := range results {
		fmt.Fprintf(&out, "<tr><td>%s</td><td>%d</td><td>%.1f</td><td>%.0f</td><td>%.0f</td><td>%.0f</td><td>%.1f</td><td>%.1f</td><td>%d</td></tr>\n",
			html.EscapeString(r.Policy), r.Jobs, r.Utilization, r.AvgJCT, r.AvgWait, r.P99Wait, r.MaxWait, r.Makespan/3600, r.Preemptions)
	}
	out.WriteString("</table>\n")
	for _, r := range results {
		if len(r.samples) > 0 {
			fmt.Fprintf(&out, "<h2>%s</h2>\n", html.EscapeString(r.Policy))
			out.Write(SVG(r))
		}
	}
	out.WriteString("</body></html>\n")
	return out.Bytes()
}

// SVG draws how many GPUs were busy, and how many more were waited for, over time.
func SVG(r *Result) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`,
		plotWidth+2*plotMargin, 2*(plotHeight+plotMargin)+plotMargin)
	fmt.Fprintf(&out, "\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	chart(r, &out, plotMargin, "GPUs in use", "#2a7", func(s sample) float64 { return s.busy })
	chart(r, &out, 2*plotMargin+plotHeight, "GPUs waited for", "#c52", func(s sample) float64 { return s.waiting })
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func chart(r *Result, out *bytes.Buffer, top int, title, color string, value func(sample) float64) {
	end, most := r.Makespan/3600, 1.0
	for _, s := range r.samples {
		most = max(most, value(s))
	}
	fmt.Fprintf(out, `<text x="%d" y="%d">%s (at most %.0f), %s, over %.0f h</text>`, plotMargin, top-8, title, most, html.EscapeString(r.Policy), end)
	fmt.Fprintf(out, "\n<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n<path fill=\"none\" stroke=\"%s\" d=\"M",
		plotMargin, top, plotWidth, plotHeight, color)
	every := max(len(r.samples)/plotPoints, 1)
	for i := 0; i < len(r.samples); i += every {
		s := r.samples[i]
		x, y := plotMargin+s.at/max(end, 1e-9)*plotWidth, float64(top)+plotHeight*(1-value(s)/most)
		if i > 0 {
			fmt.Fprintf(out, "H%.1f", x)
			fmt.Fprintf(out, "V%.1f", y)
		} else {
			fmt.Fprintf(out, "%.1f,%.1f", x, y)
		}
	}
	out.WriteString("\"/>\n")
}
