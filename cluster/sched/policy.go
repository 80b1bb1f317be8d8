package sched

import (
	"cmp"

	"github.com/berth-gpu/berth/fsm/state"
)

// Policy orders what waits. The key of a waiting task holds all that an order may
// look at: its class, its place in the log, and who wants GPUs of which shape.
//
// Within a run - one class, project, user and shape - the order of every policy is
// that of the log. A pass relies on it: it compares the heads of the runs only.
type Policy interface {
	// Name is what the settings call it.
	Name() string
	// Compare is negative if a is tried before b, positive if after. It is 0 for
	// one task only.
	Compare(a, b state.QueueKey) int
	// Factors lists what a task's place follows from, what counts most first.
	Factors(k state.QueueKey) []Factor
}

// Factor is one thing that a task's place in the order follows from.
type Factor struct{ Name, Value string }

// fcfs is first come, first served, whatever the class.
type fcfs struct{}

// Name is "fcfs".
func (fcfs) Name() string { return "fcfs" }

// Compare compares places in the log.
func (fcfs) Compare(a, b state.QueueKey) int { return a.Task.Compare(b.Task) }

// Factors is the place in the log.
func (fcfs) Factors(k state.QueueKey) []Factor { return []Factor{submitted(k)} }

// priority puts the higher class first, and within a class who came first.
type priority struct{}

// Name is "priority".
func (priority) Name() string { return "priority" }

// Compare compares classes, then places in the log.
func (priority) Compare(a, b state.QueueKey) int {
	return cmp.Or(cmp.Compare(b.Class, a.Class), a.Task.Compare(b.Task))
}

// Factors is the class, then the place in the log.
func (priority) Factors(k state.QueueKey) []Factor {
	return []Factor{{"class", k.Class.String()}, submitted(k)}
}

func submitted(k state.QueueKey) Factor { return Factor{"submitted", k.Task.Job.String()} }

func policies() []Policy { return []Policy{fcfs{}, priority{}} }

// Policies lists the names of the policies that there are.
func Policies() (names []string) {
	for _, p := range policies() {
		names = append(names, p.Name())
	}
	return names
}

// Known says that there is a policy of that name.
func Known(name string) bool { return policyNamed(name).Name() == name }

// policyNamed is the policy of a name, or priority if there is none: a state may
// name one that only a newer program has.
func policyNamed(name string) Policy {
	for _, p := range policies() {
		if p.Name() == name {
			return p
		}
	}
	return priority{}
}

func policyOf(s *state.State) Policy { return policyNamed(s.Settings().Policy) }
