package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter is one value of a Tuning, as users name and write it.
type Parameter struct {
	Name  string // "half_life"
	What  string // what it does, in one line
	Range string // "1h to 366d"

	value func(*Tuning) field
}

// TuningValue is one value of a Tuning, named and written as in Parameters. Both are in logs: names are for
// ever, and a value that was once read must be read alike.
type TuningValue struct {
	Name  string `cbor:"1,keyasint,omitempty"`
	Value string `cbor:"2,keyasint,omitempty"`
}

// Values returns the values of a tuning by these names, as they are written.
func (t *Tuning) Values(names ...string) (out []TuningValue) {
	for _, p := range Parameters() {
		if slices.Contains(names, p.Name) {
			out = append(out, TuningValue{p.Name, p.Value(t)})
		}
	}
	return out
}

// Differs returns the names of the parameters that differ from another tuning.
func (t *Tuning) Differs(other *Tuning) (names []string) {
	for _, p := range Parameters() {
		if p.Value(t) != p.Value(other) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Value returns the parameter's value in a tuning, as text for Set.
func (p *Parameter) Value(t *Tuning) string { return p.value(t).text() }

// Parameters returns the parameters of a tuning.
func Parameters() []Parameter {
	all := []Parameter{
		timespan("half_life", "how long until GPU time that was used counts half, for fair_share",
			time.Hour, MaxDuration, func(t *Tuning) *time.Duration { return &t.HalfLife }),
		number("share_weight", "how much past use moves a user's jobs back under fair_share, as a power in percent: 100 in proportion",
			0, 400, func(t *Tuning) *uint32 { return &t.ShareWeight }),
		timespan("aging", "what a class is worth under priority: a job that came earlier by more than this for each class goes first",
			time.Minute, MaxDuration, func(t *Tuning) *time.Duration { return &t.Aging }),
		timespan("wait_bound", "how long a job may wait under fair_share, sjf and gang before it comes to the front",
			time.Hour, MaxDuration, func(t *Tuning) *time.Duration { return &t.WaitBound }),
		timespan("patience", "added to every wait that an order counts: the longer, the less waiting matters",
			time.Minute, MaxDuration, func(t *Tuning) *time.Duration { return &t.Patience }),
		flag("gpu_time", "sjf goes by GPU time instead of run time", func(t *Tuning) *bool { return &t.GPUTime }),
		oneOf("backfill", "what may start while a job before it finds no GPUs",
			func(t *Tuning) *Backfill { return &t.Backfill }, BackfillNone, BackfillSkip, BackfillReserve),
		number("depth", "jobs for which GPUs are reserved at once", 1, 1000, func(t *Tuning) *uint32 { return &t.Depth }),
		oneOf("placement", "which of the nodes that hold a job it gets, unless it says so itself",
			func(t *Tuning) *Strategy { return &t.Placement }, Strategies()...),
		flag("no_preemption", "jobs are never suspended for others", func(t *Tuning) *bool { return &t.NoPreemption }),
		timespan("min_run", "how long a job runs before it may be suspended",
			0, 24*time.Hour, func(t *Tuning) *time.Duration { return &t.MinRun }),
		number("budget", "how often a job may be suspended at once", 0, 1000, func(t *Tuning) *uint32 { return &t.Budget }),
		timespan("budget_every", "run time that earns a job one more suspension",
			time.Minute, MaxDuration, func(t *Tuning) *time.Duration { return &t.BudgetEvery }),
		number("hysteresis", "percent that a running job is worth of what it would be waiting",
			100, 1000, func(t *Tuning) *uint32 { return &t.Hysteresis }),
		oneOf("preempt", "which jobs of lower classes high and critical jobs may preempt",
			func(t *Tuning) *Preempts { return &t.Preempt }, PreemptsLower, PreemptsYielding, PreemptsNobody),
		timespan("preempt_min_run", "how long a job runs before a higher class may preempt it",
			0, 24*time.Hour, func(t *Tuning) *time.Duration { return &t.PreemptMinRun }),
		timespan("preempt_cooldown", "the same for a job that was preempted or suspended before",
			0, 24*time.Hour, func(t *Tuning) *time.Duration { return &t.PreemptCooldown }),
		number("max_retries", "how often a job that fails is tried again, unless it says so itself",
			0, MaxRetries, func(t *Tuning) *uint32 { return &t.Retries }),
	}
	return all
}

// Set changes one parameter, named and written as in Parameters. The error names the allowed values.
func (t *Tuning) Set(name, value string) error {
	for _, p := range Parameters() {
		if p.Name == name {
			if !p.value(t).set(value) || p.value(t).wrong() {
				return want(name, "%s, not %q", p.Range, value)
			}
			return nil
		}
	}
	return want("parameter", "one of those that berth policy lists, not %q", name)
}

// Validate returns the value that is not allowed, and the allowed ones; nil when all are allowed.
func (t *Tuning) Validate() error {
	for _, p := range Parameters() {
		if p.value(t).wrong() {
			return want(p.Name, "%s", p.Range)
		}
	}
	return nil
}

// field is a value of a tuning.
type field interface {
	text() string
	set(text string) bool
	wrong() bool
}

// ranged is a number or a span of time between two others.
type ranged[T cmp.Ordered] struct {
	at          *T
	least, most T
	parse       func(string) (T, error)
}

func (f ranged[T]) text() string { return fmt.Sprint(*f.at) }
func (f ranged[T]) wrong() bool  { return *f.at < f.least || *f.at > f.most }

func (f ranged[T]) set(text string) bool {
	v, err := f.parse(text)
	if err == nil {
		*f.at = v
	}
	return err == nil
}

func timespan(name, what string, least, most time.Duration, at func(*Tuning) *time.Duration) Parameter {
	return Parameter{name, what, brief(least) + " to " + brief(most), func(t *Tuning) field {
		return ranged[time.Duration]{at(t), least, most, time.ParseDuration}
	}}
}

// brief returns a time in the largest unit that it is whole in: 90s, 30m, 2d; 0 is 0.
func brief(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d != 0 && d%u.of == 0 {
			return strconv.FormatInt(int64(d/u.of), 10) + u.name
		}
	}
	if d == 0 {
		return "0"
	}
	return d.String()
}

func number(name, what string, least, most uint32, at func(*Tuning) *uint32) Parameter {
	parse := func(s string) (uint32, error) {
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err
	}
	return Parameter{name, what, fmt.Sprintf("%d to %d", least, most), func(t *Tuning) field {
		return ranged[uint32]{at(t), least, most, parse}
	}}
}

// choice is one of a few values.
type choice[T comparable] struct {
	at  *T
	all map[string]T
}

func (f choice[T]) text() string { return fmt.Sprint(*f.at) }

func (f choice[T]) wrong() bool {
	for _, v := range f.all { // order-free: any
		if v == *f.at {
			return false
		}
	}
	return true
}

func (f choice[T]) set(text string) bool {
	v, found := f.all[text]
	if found {
		*f.at = v
	}
	return found
}

func flag(name, what string, at func(*Tuning) *bool) Parameter {
	return Parameter{name, what, "true or false", func(t *Tuning) field {
		return choice[bool]{at(t), map[string]bool{"true": true, "false": false}}
	}}
}

// named is a value that has a name.
type named interface {
	comparable
	fmt.Stringer
}

func oneOf[T named](name, what string, at func(*Tuning) *T, choices ...T) Parameter {
	all := map[string]T{}
	var names []string
	for _, c := range choices {
		all[c.String()] = c
		names = append(names, c.String())
	}
	last := len(names) - 1
	allowed := strings.Join(names[:last], ", ") + " or " + names[last]
	return Parameter{name, what, allowed, func(t *Tuning) field { return choice[T]{at(t), all} }}
}
