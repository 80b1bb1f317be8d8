package workload

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Knowledge is the input of an analysis in addition to the request.
type Knowledge struct {
	Fleet    []Kind // of the cluster
	Past     []Runs // of the service's name
	Defaults Defaults
	Advice   []Advice
	Priority int64 // the highest that the caller may have; 0: any
}

// Sources of values.
const (
	fromFormula = "formula"
	fromDefault = "default"
	fromHistory = "history"
)

// plan is an unfinished plan.
type plan struct {
	name     string
	kind     string
	gpus     int64
	memory   int64
	priority int64
	duration time.Duration
	why      []string
	sources  map[string]string
	advisers []wire.Adviser
	most     limits
	needs    need
	chosen   choice
}

// limits are the largest values of a plan.
type limits struct{ gpus, memory int64 }

func (p *plan) say(format string, args ...any) { p.why = append(p.why, fmt.Sprintf(format, args...)) }

func (p *plan) from(field, source string) { p.sources[field] = source }

// clampMemory limits an amount to the memory of the GPUs.
func (p *plan) clampMemory(mb int64) int64 { return min(max(mb, 1), p.most.memory) }

// Check validates a request; its error is an [*Error].
func Check(r *wire.Workload) error {
	_, _, err := read(r)
	return err
}

func read(r *wire.Workload) (string, *data, error) {
	if r.ServiceName != "" && !model.Name(r.ServiceName) {
		return "", nil, &Error{"service_name", "must be 1 to 128 bytes of text on one line"}
	}
	if r.User != "" && !model.Name(r.User) {
		return "", nil, &Error{"user", "must be 1 to 128 bytes of text on one line"}
	}
	if !model.Text(r.GPU, model.MaxName) {
		return "", nil, &Error{"gpu_type", "must be at most 128 bytes of text on one line"}
	}
	kind, known := TypeNamed(r.Type)
	if !known {
		return "", nil, &Error{"workload_type", "must be training, inference, embedding, ocr, graph_processing or generic"}
	}
	d, err := readData(kind, r.Data)
	return kind, d, err
}

// Analyze returns what a workload needs. Its errors are [*Error]s.
func Analyze(r *wire.Workload, k *Knowledge) (*wire.WorkloadPlan, error) {
	kind, d, err := read(r)
	if err != nil {
		return nil, err
	}
	usual := k.Defaults[kind]
	p := &plan{name: r.ServiceName, kind: kind, priority: usual.Priority, sources: map[string]string{}}
	p.from("priority", fromDefault)
	fleet, has := p.fleet(k.Fleet, r.GPU)
	p.size(d, fleet, usual)
	p.recall(k.Past)
	p.hear(k.Advice)
	fits := p.settle(fleet) && has
	p.last(d)
	if k.Priority > 0 {
		p.priority = min(p.priority, k.Priority)
	}
	p.say("Priority %d, memory and GPUs are for one instance of the workload.", p.priority)
	out := &wire.WorkloadPlan{
		ServiceName: r.ServiceName, Type: kind, GPUs: p.gpus, MemoryMB: p.memory, MemoryGB: math.Round(float64(p.memory)/1024*10) / 10,
		GPUType: p.chosen.Model, Priority: p.priority, Duration: p.duration.Seconds(), Fits: fits,
		Reasoning: p.why, Sources: p.sources, Ignored: d.ignored, Advisers: p.advisers,
	}
	if len(d.ignored) > 0 {
		out.Reasoning = append(out.Reasoning, fmt.Sprintf("%d fields of workload_data are not used.", len(d.ignored)))
	}
	return out, nil
}

// fleet returns the kinds to choose from, never empty, and sets the limits of the plan. false: the
// cluster has nothing of the kind.
func (p *plan) fleet(all []Kind, wanted string) (out []Kind, has bool) {
	out = slices.DeleteFunc(slices.Clone(all), func(k Kind) bool { return !model.OfModel(wanted, k.Model) || k.All < 1 || k.MemoryMB < 1 })
	if has = len(out) > 0; !has {
		unknown := reckoned()
		unknown.Model = wanted
		out = []Kind{unknown}
		what := "No GPU"
		if wanted != "" {
			what = "No GPU of type " + wanted
		}
		p.say("%s is known to the cluster: computed for GPUs of %d MB, %d on a node.", what, unknown.MemoryMB, unknown.Node)
	}
	for _, k := range out {
		p.most.gpus, p.most.memory = max(p.most.gpus, k.All), max(p.most.memory, k.MemoryMB)
	}
	return out, has
}

// size sets how many GPUs with how much memory are needed.
func (p *plan) size(d *data, fleet []Kind, usual Default) {
	n, known := p.need(d)
	source := fromFormula
	if !known {
		source = fromDefault
		n = need{split: 0, each: (float64(usual.MemoryMB)*mib - fixed) / slack, batch: 1}
		n.each = max(n.each, 0)
		p.say("The size is not known: %d MB of a GPU, the default for %s.", usual.MemoryMB, p.kind)
	}
	p.needs = n
	c := choose(fleet, &n, usual.GPUs)
	p.chosen, p.gpus, p.memory = c, c.gpus, c.memory
	if !known {
		p.memory = p.clampMemory(usual.MemoryMB)
	}
	p.from("gpu_count", source)
	p.from("memory_mb", source)
	of := "GPUs of " + fmt.Sprint(c.MemoryMB) + " MB"
	if c.Model != "" {
		of = fmt.Sprintf("%s of %d MB", c.Model, c.MemoryMB)
	}
	switch {
	case !c.fits:
		p.say("The workload needs %.0f MB of each of %d %s: more than they have. It does not fit; use a smaller batch, sequence or precision, or larger GPUs.",
			n.perGPU(float64(c.gpus), 1), c.gpus, of)
	case known:
		p.say("With a tenth more for the waste of allocators and 1024 MB for the driver, that is %d MB of each of %d %s.", c.memory, c.gpus, of)
	}
	if share := math.Ceil(n.batch / float64(c.gpus)); p.kind == Training && known && share > c.samples {
		p.say("A batch of %.0f is %.0f a GPU, of which %.0f fit at once: gather gradients over %.0f turns.", n.batch, share, c.samples, math.Ceil(share/c.samples))
	}
}

// need computes the memory; false: the size of the workload is not known.
func (p *plan) need(d *data) (n need, known bool) {
	var why []string
	switch {
	case p.kind == Graph && d.vertices+d.edges > 0:
		d.precision, d.features = or(d.precision, "fp32"), positive(d.features, 128)
		n, why = graphNeed(d)
	case d.parameters == 0:
		return n, false
	case p.kind == Training:
		d.assume("bf16", 2048, 1)
		d.optimizer = or(d.optimizer, "adamw")
		n, why = trainingNeed(d)
	default:
		if p.kind == Embedding || p.kind == OCR {
			d.assume("fp16", 512, 32)
		}
		d.assume("fp16", 4096, 1)
		n, why = servingNeed(p.kind, d)
	}
	if d.parameters > 0 {
		p.say("The model has %s parameters in %g layers of width %.0f, by %s.", amount(d.parameters), d.layers, d.hidden, d.said)
	}
	p.why = append(p.why, why...)
	return n, true
}

// assume fills in what was not given.
func (d *data) assume(precision string, sequence, batch float64) {
	d.precision = or(d.precision, precision)
	d.sequence, d.batch = positive(d.sequence, sequence), positive(d.batch, batch)
}

func or(given, otherwise string) string {
	if given == "" {
		return otherwise
	}
	return given
}

func positive(given, otherwise float64) float64 {
	if given == 0 {
		return otherwise
	}
	return given
}

// last sets how long it takes, unless earlier runs or an adviser have.
func (p *plan) last(d *data) {
	const field = "estimated_duration_seconds"
	if p.sources[field] != "" {
		return
	}
	took, why := lasts(p.kind, d, p.chosen.Model, float64(p.gpus))
	if took > 0 {
		p.duration = took
		p.from(field, fromFormula)
		p.why = append(p.why, why)
		return
	}
	p.duration = Unknown
	p.from(field, fromDefault)
	p.say("The amount of work is not known: %s, the default.", Unknown)
}
