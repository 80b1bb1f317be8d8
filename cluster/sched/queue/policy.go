package queue

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/berth-gpu/berth/cluster/sched/blocker"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// Policy orders what waits. The key of a waiting task holds all that an order may look at: its class, its place in
// the log, its project and user, its shape, and its expected run time.
//
// Within a run - alike in all that but the place in the log - the order of every policy is that of the log. A pass
// relies on this: it compares the heads of the runs only.
type Policy struct {
	Name string
	what string // in one line
	// score is greater for what goes first; ties go by the log.
	score func(*Ordering, state.QueueKey) uint64
	// Bounded is set if tasks that have waited for longer than the wait bound move to the front.
	Bounded bool
	// Proportional is set if scores are proportions: one may be made greater by a factor.
	Proportional bool
	// Factors returns what a score follows from, in order of weight.
	Factors func(*Ordering, state.QueueKey) []Factor
}

// Factor is one thing that a task's place in the order follows from.
type Factor struct{ Name, Value string }

// Factors returns what a waiting task's place in the order follows from, in order of weight.
func (o *Ordering) Factors(k state.QueueKey) []Factor {
	if run := k.Run.Value(); run.Place.Moved() {
		k = placed(k, &run.Place)
	}
	return o.Policy.Factors(o, k)
}

// policies returns those that clusters can have, in the order of [model.Policies].
func policies() []Policy {
	return []Policy{
		{model.DefaultPolicy, "long waits, little GPU time to go and little used lately first; jobs that allow it are suspended for better ones", byShare, true, true, fairFactors},
		{"priority", "higher class first; a class is worth the parameter aging", byClass, false, false, classFactors},
		{"fcfs", "who came first", func(*Ordering, state.QueueKey) uint64 { return 0 }, false, false, logFactors},
		{"sjf", "shortest remaining run time over the wait", byRunTime, true, true, shortFactors},
		{"gang", "most GPUs times the wait", byGPUs, true, true, gangFactors},
	}
}

// Describe returns, in one line, how a policy orders.
func Describe(name string) string { return PolicyNamed(name).what }

// PolicyNamed returns the policy of a name, or the default if there is none: a state
// may name one that only a newer program has.
func PolicyNamed(name string) Policy {
	all := policies()
	for _, p := range slices.Concat(all, textbooks()) {
		if p.Name == name {
			return p
		}
	}
	return all[0]
}

// byShare orders by the square of the wait over the GPU time that is still needed and the user's part of recent
// use: short and small jobs start soon, no job waits without end, and users that have had much stand back. Where
// no job is ever suspended, it orders by the cube of the wait times the GPUs over a power of the run time. That
// power is between the square and the cube, the higher the more often run times have been right: WFP3 (Tang et
// al., Cluster 2009) where they are known. No job can make room for a large job then, so small ones must not
// always come first.
func byShare(o *Ordering, k state.QueueKey) uint64 {
	w := o.patient(k)
	run := k.Run.Value()
	gpus, left := uint64(max(run.Shape.GPUs, 1)), run.Expected.Seconds()
	score := w * w << 12 / left
	if o.Steady {
		score = scale(score, w*gpus<<16, left*power(run.Expected, o.trust))
	} else {
		score /= gpus
	}
	user := o.shares.account(model.ShareKey{Project: run.Project, User: run.User}, &o.Tuning)
	return user.lead.move(min(score, mostScore)<<8/user.use, w, &o.Tuning)
}

// mostScore bounds what the wait and the work make of a score, before the use.
const mostScore = 1 << 52

// scale returns n times a over b, at most the greatest number.
func scale(n, a, b uint64) uint64 {
	hi, lo := bits.Mul64(n, a)
	if hi >= b {
		return math.MaxUint64
	}
	out, _ := bits.Div64(hi, lo, b)
	return out
}

func fairFactors(o *Ordering, k state.QueueKey) []Factor {
	run := k.Run.Value()
	user := o.shares.account(model.ShareKey{Project: run.Project, User: run.User}, &o.Tuning)
	factors := []Factor{
		{"waited", o.waited(k).String()},
		{"expected", roughly(run.Expected)},
		{"gpus", fmt.Sprint(run.Shape.GPUs)},
	}
	if o.Tuning.ShareWeight > 0 {
		factors = append(factors, Factor{"use_of_fair_share", fmt.Sprintf("%d%%", user.part*100/whole)})
	}
	if user.lead != 0 {
		moved := float64(user.lead.move(1<<32, o.patient(k), &o.Tuning)) / (1 << 32)
		factors = append(factors, Factor{"lead", fmt.Sprintf("x%.3g", moved)})
	}
	if o.Steady {
		factors = append(factors, Factor{"trust_in_run_times", fmt.Sprintf("%d%%", o.trust*100/fullTrust)})
	}
	return factors
}

// byClass orders by since when jobs could run, less what the class is worth.
func byClass(o *Ordering, k state.QueueKey) uint64 {
	worth := o.Tuning.Aging * time.Duration(k.Class)
	return math.MaxInt64>>1 - uint64(k.Since.Add(-worth))
}

func classFactors(o *Ordering, k state.QueueKey) []Factor {
	return []Factor{
		{"class", k.Class.String()},
		{"worth_of_a_class", blocker.ShortDuration(o.Tuning.Aging)},
		{"since", blocker.Timestamp(k.Since)},
	}
}

func logFactors(_ *Ordering, k state.QueueKey) []Factor {
	return []Factor{{"since", blocker.Timestamp(k.Since)}}
}

// byRunTime orders by the run time that is still needed over the wait.
func byRunTime(o *Ordering, k state.QueueKey) uint64 {
	run := k.Run.Value()
	score := o.patient(k) << 36 / run.Expected.Seconds()
	if o.Tuning.GPUTime {
		score /= uint64(max(run.Shape.GPUs, 1))
	}
	return score
}

func shortFactors(o *Ordering, k state.QueueKey) []Factor {
	return []Factor{
		{"expected", roughly(k.Run.Value().Expected)},
		{"waited", o.waited(k).String()},
	}
}

// byGPUs orders by the GPUs times the wait.
func byGPUs(o *Ordering, k state.QueueKey) uint64 {
	return o.patient(k) * uint64(k.Run.Value().Shape.GPUs)
}

func gangFactors(o *Ordering, k state.QueueKey) []Factor {
	return []Factor{{"gpus", fmt.Sprint(k.Run.Value().Shape.GPUs)}, {"waited", o.waited(k).String()}}
}

// roughly returns the run time that a step stands for, no finer than the step.
func roughly(s model.Step) string {
	d := seconds(s.Seconds())
	switch {
	case s == 0:
		return "at most " + blocker.ShortDuration(model.Step(1).Least())
	case d < time.Hour:
		d = d.Round(time.Minute)
	case d < 10*time.Hour:
		d = d.Round(15 * time.Minute)
	default:
		d = d.Round(time.Hour)
	}
	return "about " + blocker.ShortDuration(d)
}

func seconds(n uint64) time.Duration { return time.Duration(n) * time.Second }
