package httpapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/cluster/sched/admission"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// where is which GPUs on which nodes, each written in one way.
func where(r *wire.Submit, c *command.Submit) error {
	s := &c.Spec
	s.GPUModel, s.Placement = model.SortModels(r.GPUType), strings.ReplaceAll(r.Placement, "-", "_")
	if _, known := model.StrategyNamed(s.Placement); s.Placement != "" && !known {
		return invalid("placement", "must be best_fit, spread, round_robin or least_loaded")
	}
	terms, err := model.ParseConstraint(r.Constraint)
	if err != nil {
		return invalid("constraint", err.Error())
	}
	s.Constraint = terms.String()
	if s.Nodelist, err = nodes("nodelist", r.Nodelist); err != nil {
		return err
	}
	s.Exclude, err = nodes("exclude", r.Exclude)
	return err
}

func nodes(field string, list []string) (string, error) {
	names, err := model.ParseNodes(strings.Join(list, ","))
	if err != nil {
		return "", invalid(field, err.Error())
	}
	return strings.Join(names, ","), nil
}

// listed are the names of a list of nodes.
func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// warnings are what may not be meant so in what was asked for, though it is accepted.
func warnings(s *state.State, job *model.Job) []string {
	spec := &job.Spec
	return slices.Concat(admission.Oversized(s, spec), unknownNodes(s, "names", spec.Nodelist), unknownNodes(s, "excludes", spec.Exclude), vainly(s, job.ID))
}

// vainly says of jobs whose success a job waits for that they cannot have it any more.
func vainly(s *state.State, id model.JobID) (out []string) {
	for _, d := range s.DependenciesOf(id) {
		if on, _ := s.Jobs.Get(d.Key.On); d.State == model.DependencyWaits && d.Kind == model.AfterOK && on.Failed+on.Canceled > 0 {
			out = append(out, fmt.Sprintf("waits for the success of job %s, of which tasks have failed or been canceled: it will be canceled when that ends", on.ID))
		}
	}
	return out
}

// mostNamed is how many nodes a warning names.
const mostNamed = 5

// unknownNodes says of nodes that a job names and the cluster does not have that this may be
// a slip: nodes may come, so it is not refused. As long as none has registered it says nothing.
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
