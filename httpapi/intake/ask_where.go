package intake

import (
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// where parses which GPUs on which nodes, each given in one way.
func where(r *wire.Submit, c *command.Submit) error {
	s := &c.Spec
	s.GPUModel, s.Placement = model.SortModels(r.GPUType), strings.ReplaceAll(r.Placement, "-", "_")
	if _, known := model.StrategyNamed(s.Placement); s.Placement != "" && !known {
		return problem.Invalid("placement", "must be best_fit, spread, round_robin or least_loaded")
	}
	terms, err := model.ParseConstraint(r.Constraint)
	if err != nil {
		return problem.Invalid("constraint", err.Error())
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
		return "", problem.Invalid(field, err.Error())
	}
	return strings.Join(names, ","), nil
}
