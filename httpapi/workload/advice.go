package workload

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Advice is the answer of another service about a workload, or why there is none.
type Advice struct {
	Name    string
	Skipped bool   // it was not asked
	Failure string // why there is no answer; empty: there is
	Body    []byte // the answer, JSON
}

// advised is the fields of an answer that are used.
type advised struct {
	GPUs     *float64 `json:"gpu_count"`
	MemoryMB *float64 `json:"memory_mb"`
	Priority *float64 `json:"priority"`
	Duration *float64 `json:"estimated_duration_seconds"`
}

// leeway bounds advice: it may change a formula's value by this factor at most, in both directions.
const leeway = 4

// hear uses the advice of others within bounds, for each value the first that contains it. Values
// of earlier runs have precedence.
func (p *plan) hear(list []Advice) {
	for i := range list {
		a := &list[i]
		out := wire.Adviser{Name: a.Name, Outcome: "failed", Detail: a.Failure}
		var said advised
		switch {
		case a.Skipped:
			out.Outcome = "skipped"
		case a.Failure != "":
		case json.Unmarshal(a.Body, &said) != nil:
			out.Outcome, out.Detail = "useless", "its answer is not the JSON object that was expected"
		default:
			out.Outcome, out.Detail = p.follow(a.Name, &said)
		}
		p.advisers = append(p.advisers, out)
	}
}

// follow uses one answer.
func (p *plan) follow(name string, said *advised) (outcome, detail string) {
	var taken, refused []string
	take := func(field string, v *float64, low, high int64, set func(int64)) {
		switch source := p.sources[field]; {
		case v == nil:
		case !(*v >= 1) || math.IsInf(*v, 0):
			refused = append(refused, field+" is not a number of at least 1")
		case source != "" && source != fromFormula && source != fromDefault:
			refused = append(refused, field+" is known from "+source)
		default:
			n := int64(min(math.Round(*v), 1<<53))
			kept := min(max(n, low), high)
			set(kept)
			word := fmt.Sprintf("%s %d", field, kept)
			if kept != n {
				word += fmt.Sprintf(" (the advice was %d; %d to %d is allowed)", n, low, high)
			}
			taken = append(taken, word)
			p.from(field, name)
		}
	}
	take("gpu_count", said.GPUs, max(1, p.gpus/leeway), max(1, min(p.gpus*leeway, p.most.gpus)), p.take)
	take("memory_mb", said.MemoryMB, max(1, p.memory/leeway), p.clampMemory(p.memory*leeway), func(n int64) { p.memory = n })
	take("priority", said.Priority, 1, 10, func(n int64) { p.priority = n })
	take("estimated_duration_seconds", said.Duration, 1, int64(MaxDuration/time.Second), func(n int64) { p.duration = time.Duration(n) * time.Second })
	detail = strings.Join(slices.Concat(taken, refused), "; ")
	switch {
	case len(taken) > 0:
		p.say("%s advises: %s.", name, strings.Join(taken, "; "))
		return "taken", detail
	case len(refused) > 0:
		return "overruled", detail
	}
	return "useless", "its answer has no value that is used here"
}
