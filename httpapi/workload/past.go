package workload

import "time"

// Runs is the run times and the memory use of earlier runs of a name on a number of GPUs.
type Runs struct {
	GPUs    int64
	Count   int64
	Typical time.Duration // the median; 0: too few runs
	PeakMB  int64         // the most memory of a GPU; 0: not known
	Peaks   int64         // runs with a known peak
}

// fewRuns is the least number of runs that are used.
const fewRuns = 3

// recall uses the results of earlier runs, which have precedence over formulas.
func (p *plan) recall(past []Runs) {
	var best Runs
	for _, r := range past {
		if r.Count > best.Count || r.Count == best.Count && r.GPUs < best.GPUs {
			best = r
		}
	}
	switch {
	case best.Count == 0:
		return
	case best.Count < fewRuns:
		p.say("Only %d earlier runs of %q are known: too few to be used.", best.Count, p.name)
		return
	}
	if best.GPUs != p.gpus && best.GPUs <= p.most.gpus {
		p.say("%d earlier runs of %q used %d GPUs each: this number replaces %d.", best.Count, p.name, best.GPUs, p.gpus)
		p.take(best.GPUs)
		p.from("gpu_count", fromHistory)
	}
	if best.Peaks >= fewRuns && best.PeakMB > 0 {
		memory := p.clampMemory((best.PeakMB + best.PeakMB/10 + 255) / 256 * 256)
		p.say("%d of them have a known memory use: at most %d MB of a GPU, so with a tenth more %d MB in place of %d MB.",
			best.Peaks, best.PeakMB, memory, p.memory)
		p.memory = memory
		p.from("memory_mb", fromHistory)
	}
	if best.Typical > 0 {
		p.say("Half of %d earlier runs took at most about %s.", best.Count, best.Typical)
		p.duration = min(max(best.Typical, time.Second), MaxDuration)
		p.from("estimated_duration_seconds", fromHistory)
	}
}

// take changes the number of GPUs, and computes their memory by the formulas again.
func (p *plan) take(gpus int64) {
	p.gpus = gpus
	if p.sources["memory_mb"] == fromFormula {
		p.memory = p.clampMemory(int64(p.needs.perGPU(float64(gpus), 1)))
	}
}
