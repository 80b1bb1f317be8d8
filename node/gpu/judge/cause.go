package judge

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// cause is something that may be wrong with a GPU, in order of decreasing severity.
type cause uint8

const (
	causeSilent cause = iota
	causeRemap
	causeRecovery
	causeError
	causeCritical
	causeLeftover
	causeStranger
	causeHot
	causePending
	causeUncorrected
	causes
)

// forever is longer than any GPU is used.
const forever = time.Duration(1<<63 - 1)

// state is the progress of a cause.
type state struct {
	On    bool      // it counts
	seen  bool      // it was in the newest reading
	since time.Time // when that began
	why   string
}

// next returns the state after an instant at which the cause is seen or not.
func (s state) next(now time.Time, found finding) state {
	if seen := found.why != ""; seen != s.seen {
		s.seen, s.since = seen, now
	}
	if s.seen {
		s.why = found.why
	}
	waited := now.Sub(s.since)
	switch {
	case s.seen && waited >= found.rise:
		s.On = true
	case !s.seen && s.On && found.settle != forever && waited >= found.settle:
		s.On = false
	}
	return s
}

// finding is a reading's result for a cause: why it is seen, "" if it is not, and how long it takes to count
// and to be over.
type finding struct {
	cause        cause
	why          string
	rise, settle time.Duration
}

// health returns the verdict that a cause alone would lead to.
func (c cause) health() model.Health {
	switch {
	case c <= causeCritical:
		return model.HealthQuarantined
	case c == causeLeftover:
		return model.HealthDirty
	case c == causeStranger:
		return model.HealthUnmanaged
	default:
		return model.HealthDegraded
	}
}

// troubles returns the findings about the driver.
func (c Config) troubles(in Reading) []finding {
	var silent, broken string
	switch in.Trouble {
	case TroubleSilent:
		silent = "NVML does not answer" + detail(in)
	case TroubleError:
		broken = "the driver reports an error" + detail(in)
	case TroubleNone, TroubleReset, TroubleLost:
	}
	return []finding{{causeSilent, silent, c.Blind, c.Settle}, {causeError, broken, c.Blind, c.Settle}}
}

func detail(in Reading) string {
	if in.Detail == "" {
		return ""
	}
	return ": " + in.Detail
}

// findings returns the findings of a reading without trouble about the GPU.
func (c Config) findings(r *Record, in Reading) []finding {
	says := func(is bool, why string) string {
		if !is {
			return ""
		}
		return why
	}
	return []finding{
		{causeRemap, says(in.Remap.Failed, "a row of its memory cannot be remapped: replace it"), 0, forever},
		{causeRecovery, in.Recovery.needed(), 0, c.Settle},
		{causeCritical, says(c.over(r, causeCritical, c.Critical, in), fmt.Sprintf("hotter than %d °C", c.Critical)), c.Rise, c.Settle},
		{causeLeftover, says(in.Leftover, "memory is in use that no process accounts for"), c.Leftover, c.Settle},
		{causeStranger, strangers(in.Strangers), c.Rise, c.Settle},
		{causeHot, says(c.over(r, causeHot, c.Hot, in), fmt.Sprintf("hotter than %d °C", c.Hot)), c.Rise, c.Settle},
		{causePending, says(in.Remap.Pending, "rows of its memory wait for a reset to be remapped"), 0, c.Settle},
		{causeUncorrected, says(in.Uncorrected > 0, fmt.Sprintf("%d uncorrected memory errors since the driver was loaded", in.Uncorrected)), 0, c.Settle},
	}
}

// over reports whether a GPU is hotter than a limit; once it was, until it is clearly cooler again.
func (c Config) over(r *Record, which cause, limit int16, in Reading) bool {
	if s := r.states[which]; s.seen || s.On {
		limit -= c.Hysteresis
	}
	return in.Temperature > limit
}

// maxNamed is how many foreign processes are named.
const maxNamed = 3

func strangers(list []Stranger) string {
	if len(list) == 0 {
		return ""
	}
	var named []string
	for _, s := range list[:min(len(list), maxNamed)] {
		named = append(named, s.String())
	}
	more := ""
	if n := len(list) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return "not started by Berth: " + strings.Join(named, ", ") + more
}
