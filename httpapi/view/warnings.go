package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
	"github.com/berth-gpu/berth/fsm/state"
)

// listed splits a list of nodes.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// Warnings returns warnings about an accepted submission that may contain a mistake.
func Warnings(s *state.State, job *model.Job) []string {
	spec := &job.Spec
	return slices.Concat(admission.Oversized(s, spec), unknownNodes(s, "names", spec.Nodelist), unknownNodes(s, "excludes", spec.Exclude), vainly(s, job.ID),
		unknownPartitions(s, spec))
}

// vainly returns a warning if a job waits for the success of jobs that have failed.
func vainly(s *state.State, id model.JobID) (out []string) {
	for _, d := range s.DependenciesOf(id) {
		if on, _ := s.Jobs.Get(d.Key.On); d.State == dependency.Waits && d.Key.Kind == dependency.AfterOK && !d.Any && on.Failed+on.Canceled > 0 {
			out = append(out, fmt.Sprintf("waits for the success of job %s, of which tasks have failed or been canceled: the new job will be canceled when that one ends", on.ID))
		}
	}
	return out
}

// mostNamed is the most nodes that a warning names.
const mostNamed = 5

// unknownNodes returns a warning about named nodes that the cluster does not have: nodes may join
// later, so that this is no error. Without any registered nodes there is no warning.
func unknownNodes(s *state.State, what, list string) []string {
	if s.Nodes.Len() == 0 {
		return nil
	}
	unknown := slices.DeleteFunc(listed(list), func(name string) bool { return s.Nodes.Has(model.NodeID(name)) })
	noun, more := "nodes", ""
	switch n := len(unknown); {
	case n == 0:
		return nil
	case n == 1:
		noun = "a node"
	case n > mostNamed:
		unknown, more = unknown[:mostNamed], fmt.Sprintf(" and %d more", n-mostNamed)
	}
	return []string{fmt.Sprintf("%s %s that the cluster does not have: %s%s", what, noun, strings.Join(unknown, ", "), more)}
}
