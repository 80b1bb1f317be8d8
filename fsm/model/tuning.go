package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter is one value of a Tuning or of the Defaults, as users name and write it. Its bounds stand here only.
type Parameter[T any] struct {
	Name  string // "half_life"
	What  string // what it does, in one line
	Range string // "1h to 366d"

	Numeric bool // it is a number, without a unit

	Setting string // name among the settings of the cluster, if it does not follow from Name
	Flag    string // option of berth server that sets it at first; empty: none

	value func(*T) field
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

// Value returns the parameter's value in a tuning or in defaults, as text for Set.
func (p *Parameter[T]) Value(of *T) string { return p.value(of).text() }

// Set changes the parameter in a tuning or in defaults. The error names the allowed values.
func (p *Parameter[T]) Set(in *T, value string) error {
	if !p.value(in).set(value) || p.value(in).wrong() {
		return want(p.Name, "%s, not %q", p.Range, value)
	}
	return nil
}

// withSetting returns the parameter with its name among the settings, and its flag or none.
func (p Parameter[T]) withSetting(setting, flag string) Parameter[T] {
	p.Setting, p.Flag = setting, flag
	return p
}

// Parameters returns the parameters of a tuning.
func Parameters() []Parameter[Tuning] {
	return []Parameter[Tuning]{
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
		number("cpu_share", "percent of the cores and of the memory of nodes with GPUs that jobs without GPUs may hold",
			0, 100, func(t *Tuning) *uint32 { return &t.CPUShare }),
		number("max_retries", "retries after a failure of jobs without a number of their own",
			0, MaxRetries, func(t *Tuning) *uint32 { return &t.Retries }).withSetting("jobs.max_retries", ""),
	}
}

// Set changes one parameter, named and written as in Parameters. The error names the allowed values.
func (t *Tuning) Set(name, value string) error {
	for _, p := range Parameters() {
		if p.Name == name {
			return p.Set(t, value)
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

// field is a value of a parameter.
type field interface {
	text() string
	set(text string) bool
	wrong() bool
}

// ranged is a number or a span of time between two others; off allows 0 in addition.
type ranged[T cmp.Ordered] struct {
	at          *T
	least, most T
	off         bool
	parse       func(string) (T, error)
}

func (f ranged[T]) text() string { return fmt.Sprint(*f.at) }

func (f ranged[T]) wrong() bool {
	var zero T
	return (*f.at < f.least || *f.at > f.most) && (!f.off || *f.at != zero)
}

func (f ranged[T]) set(text string) bool {
	v, err := f.parse(text)
	if err == nil {
		*f.at = v
	}
	return err == nil
}

func timespan[T any](name, what string, least, most time.Duration, at func(*T) *time.Duration) Parameter[T] {
	return Parameter[T]{Name: name, What: what, Range: brief(least) + " to " + brief(most), value: func(t *T) field {
		return ranged[time.Duration]{at: at(t), least: least, most: most, parse: time.ParseDuration}
	}}
}

// timespanOrOff is a timespan of which 0 switches something off.
func timespanOrOff[T any](name, what string, least, most time.Duration, at func(*T) *time.Duration) Parameter[T] {
	return Parameter[T]{Name: name, What: what, Range: "0, or " + brief(least) + " to " + brief(most), value: func(t *T) field {
		return ranged[time.Duration]{at: at(t), least: least, most: most, off: true, parse: time.ParseDuration}
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

func number[T any, N ~uint8 | ~uint32](name, what string, least, most N, at func(*T) *N) Parameter[T] {
	parse := func(s string) (N, error) {
		n, err := strconv.ParseUint(s, 10, 32)
		if err == nil && n > uint64(most) {
			err = strconv.ErrRange
		}
		return N(n), err
	}
	return Parameter[T]{Name: name, What: what, Range: fmt.Sprintf("%d to %d", least, most), Numeric: true, value: func(t *T) field {
		return ranged[N]{at: at(t), least: least, most: most, parse: parse}
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

// label is a text that is valid, or empty.
type label struct {
	at    *string
	valid func(string) bool
}

func (f label) text() string { return *f.at }
func (f label) wrong() bool  { return *f.at != "" && !f.valid(*f.at) }

func (f label) set(text string) bool {
	*f.at = text
	return true
}

func flag[T any](name, what string, at func(*T) *bool) Parameter[T] {
	return Parameter[T]{Name: name, What: what, Range: "true or false", value: func(t *T) field {
		return choice[bool]{at(t), map[string]bool{"true": true, "false": false}}
	}}
}

// named is a value that has a name.
type named interface {
	comparable
	fmt.Stringer
}

func oneOf[T any, V named](name, what string, at func(*T) *V, choices ...V) Parameter[T] {
	all := map[string]V{}
	var names []string
	for _, c := range choices {
		all[c.String()] = c
		names = append(names, c.String())
	}
	last := len(names) - 1
	allowed := strings.Join(names[:last], ", ") + " or " + names[last]
	return Parameter[T]{Name: name, What: what, Range: allowed, value: func(t *T) field { return choice[V]{at(t), all} }}
}
