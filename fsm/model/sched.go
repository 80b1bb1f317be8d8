package model

import (
	"cmp"
	"math/bits"
	"time"
)

// Tuning is how the scheduler orders, reserves and suspends. It belongs to the cluster and is changed as a
// whole.
type Tuning struct {
	// HalfLife is how long it takes until used GPU time counts half, for fair share. 1 h to 366 days.
	HalfLife time.Duration `cbor:"1,keyasint,omitempty"`
	// ShareWeight is how much past use moves a user's jobs back under fair share,
	// as a power in percent: 0 not at all, 100 in proportion, 200 by its square, at
	// most 400.
	ShareWeight uint32 `cbor:"2,keyasint,omitempty"`
	// Aging is what one class is worth under the policy priority: a job that came
	// earlier by more than this for each class between goes first. 1 min to 366 days.
	Aging time.Duration `cbor:"3,keyasint,omitempty"`
	// WaitBound is how long a job may wait under fair share, sjf and gang before it is moved to the front of
	// the line, and under the other policies before no job without a known end passes it; a sixth less for a
	// job that needs every GPU, and in proportion for others. At three times as long its GPUs are drained for
	// it. 1 h to 366 days.
	WaitBound time.Duration `cbor:"4,keyasint,omitempty"`

	Backfill Backfill `cbor:"5,keyasint,omitempty"`
	Depth    uint32   `cbor:"6,keyasint,omitempty"` // jobs that GPUs are kept for at once; 1 to 1,000

	// NoPreemption keeps the scheduler from suspending jobs for others.
	NoPreemption bool `cbor:"7,keyasint,omitempty"`
	// MinRun is how long an attempt runs before it may be suspended. At most 1 day.
	MinRun time.Duration `cbor:"8,keyasint,omitempty"`
	// Budget is how often a job may be suspended at once, and BudgetEvery the run
	// time that earns it one more. At most 1,000; 1 min to 366 days.
	Budget      uint32        `cbor:"9,keyasint,omitempty"`
	BudgetEvery time.Duration `cbor:"10,keyasint,omitempty"`
	// Hysteresis is how much more a running job is worth than it would be waiting,
	// in percent. 100 to 1,000.
	Hysteresis uint32 `cbor:"11,keyasint,omitempty"`
	// Patience is added to every wait that an order counts: the longer, the less a wait matters compared with
	// run time and size. 1 min to 366 days.
	Patience time.Duration `cbor:"12,keyasint,omitempty"`
	// GPUTime makes sjf order by GPU time in place of run time.
	GPUTime bool `cbor:"13,keyasint,omitempty"`
	// Placement selects one of the nodes that have room for a job, unless the job sets its own strategy.
	Placement Strategy `cbor:"14,keyasint,omitempty"`

	// Preempt selects the jobs that jobs of the classes high and critical may preempt.
	Preempt Preempts `cbor:"16,keyasint,omitempty"`
	// PreemptMinRun is how long an attempt runs before such a job may preempt it, and
	// PreemptCooldown the same for one that was preempted or suspended before. At
	// most 1 day.
	PreemptMinRun   time.Duration `cbor:"17,keyasint,omitempty"`
	PreemptCooldown time.Duration `cbor:"18,keyasint,omitempty"`

	// Retries is how often a job without a setting of its own is retried after a failure. At most MaxRetries.
	Retries uint32 `cbor:"21,keyasint,omitempty"`

	// CPUShare is which part of the cores and of the memory of a node with GPUs jobs without GPUs may hold, in percent.
	CPUShare uint32 `cbor:"60,keyasint,omitempty"`
}

// DefaultTuning returns the tuning of a new cluster.
func DefaultTuning() Tuning {
	return Tuning{
		HalfLife: 7 * 24 * time.Hour, ShareWeight: 100, Aging: 24 * time.Hour, WaitBound: 200 * time.Hour,
		Backfill: BackfillReserve, Depth: 16,
		MinRun: 30 * time.Minute, Budget: 2, BudgetEvery: 4 * time.Hour, Hysteresis: 200,
		Patience: 2 * time.Hour, PreemptMinRun: 5 * time.Minute, PreemptCooldown: time.Hour,
		CPUShare: 25,
	}
}

// Preempts selects the jobs that jobs of the classes high and critical may preempt.
type Preempts uint8

// The choices.
const (
	PreemptsLower    Preempts = 0 // jobs of lower classes, those that allow it first
	PreemptsYielding Preempts = 1 // jobs of lower classes that allow it
	PreemptsNobody   Preempts = 2
)

// String returns the choice's name.
func (p Preempts) String() string { return NameOf(p, "lower", "preemptible", "nobody") }

// Strategy selects one of several nodes that have room for a job.
type Strategy uint8

// The strategies.
const (
	StrategyBestFit     Strategy = 0 // least is left over, and nodes without anything stay so
	StrategySpread      Strategy = 1 // most free GPUs
	StrategyRoundRobin  Strategy = 2 // given work longest ago
	StrategyLeastLoaded Strategy = 3 // least utilisation of its GPUs, as far as known
)

// String returns the strategy's name.
func (s Strategy) String() string {
	return NameOf(s, "best_fit", "spread", "round_robin", "least_loaded")
}

// Strategies returns all strategies.
func Strategies() []Strategy {
	return []Strategy{StrategyBestFit, StrategySpread, StrategyRoundRobin, StrategyLeastLoaded}
}

// StrategyNamed returns the strategy of a name; false if there is none.
func StrategyNamed(text string) (Strategy, bool) {
	for _, s := range Strategies() {
		if s.String() == text {
			return s, true
		}
	}
	return StrategyBestFit, false
}

// Backfill selects what may start while a job before it finds no GPUs.
type Backfill uint8

// The modes.
const (
	BackfillReserve Backfill = 1 // what ends before the GPUs kept for it are free, or leaves them alone
	BackfillNone    Backfill = 2 // nothing
	BackfillSkip    Backfill = 3 // whatever fits
)

// String returns the mode's name.
func (b Backfill) String() string {
	return NameOf(b, "", "reserve", "none", "skip")
}

// Valid reports whether b is one of the modes.
func (b Backfill) Valid() bool { return b >= BackfillReserve && b <= BackfillSkip }

// Steer is the scheduler's memory between passes.
type Steer struct {
	// Gangs is how many nodes the last plan gave to jobs of a node or more.
	Gangs uint32 `cbor:"1,keyasint,omitempty"`
	// Credit is the GPU time, in GPU-seconds, that jobs at the wait bound may still take at At; Rate is how
	// many GPUs they hold since then. It fills by itself. Spent means that it has run out, until it is nearly
	// full again.
	Credit int64  `cbor:"2,keyasint,omitempty"`
	At     Time   `cbor:"3,keyasint,omitempty"`
	Rate   uint32 `cbor:"4,keyasint,omitempty"`
	Spent  bool   `cbor:"5,keyasint,omitempty"`
}

// ShareKey names a user within a project; Project is empty for jobs without one.
type ShareKey struct {
	Project string `cbor:"1,keyasint,omitempty"`
	User    string `cbor:"2,keyasint,omitempty"`
}

// Compare orders by project, then user.
func (k ShareKey) Compare(o ShareKey) int {
	return cmp.Or(cmp.Compare(k.Project, o.Project), cmp.Compare(k.User, o.User))
}

// Weight is how much of the cluster a project, or a user within one, should get, relative to others of its
// kind; one without a row has DefaultWeight.
type Weight struct {
	Scope  ScopeKey `cbor:"1,keyasint,omitempty"`
	Shares uint32   `cbor:"2,keyasint,omitempty"` // 1 to 10,000
}

// DefaultWeight is the weight of projects and users without a weight of their own.
const DefaultWeight = 100

// Step quantises run times: four steps a factor of two, from 5 minutes on. Jobs of one step have similar
// expected run times.
type Step uint8

// MaxStep is the last step, from 191 days on.
const MaxStep Step = 63

// shortest is the run time of step 0, in seconds: shorter ones are alike.
const shortest = 300

// fourths returns 2^(0/4) to 2^(3/4), times 2^16.
func fourths() [4]uint64 { return [4]uint64{65536, 77936, 92682, 110218} }

// StepOf returns the step of a run time.
func StepOf(d time.Duration) Step {
	s := uint64(max(d/time.Second, shortest)) << 16 / shortest
	whole := bits.Len64(s) - 17
	step := 4*whole + 3
	for n := fourths(); s>>whole < n[step-4*whole]; {
		step--
	}
	return Step(min(step, int(MaxStep)))
}

// Least returns the shortest run time of a step.
func (s Step) Least() time.Duration {
	if s == 0 {
		return 0
	}
	return time.Duration(shortest*fourths()[s%4]<<(s/4)>>16) * time.Second
}

// Seconds returns the run time that a step stands for: the middle of its range.
func (s Step) Seconds() uint64 {
	f := fourths()
	return shortest * (f[s%4] + f[s%4]/11) << (s / 4) >> 16
}
