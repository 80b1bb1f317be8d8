package intake

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func readModel(r *wire.Submit, c *command.Submit, _ model.Time) error {
	c.Spec.GPUModel = model.SortModels(r.GPUType)
	return nil
}

func readPlacement(r *wire.Submit, c *command.Submit, _ model.Time) error {
	s := &c.Spec
	s.Placement = strings.ReplaceAll(r.Placement, "-", "_")
	if _, known := model.StrategyNamed(s.Placement); s.Placement != "" && !known {
		return problem.Invalid("placement", "must be best_fit, spread, round_robin or least_loaded")
	}
	return nil
}

func readConstraint(r *wire.Submit, c *command.Submit, _ model.Time) error {
	terms, err := model.ParseConstraint(r.Constraint)
	c.Spec.Constraint = terms.String()
	return Named("constraint", err)
}

func setConstraint(r *wire.Submit, v *FlagValue) error {
	if _, err := model.ParseConstraint(v.Text); err != nil {
		return fmt.Errorf("--constraint %w", err)
	}
	r.Constraint = v.Text
	return nil
}

// setGPUs parses "4" and "h100:4".
func setGPUs(r *wire.Submit, v *FlagValue) error {
	kind, digits, found := strings.Cut(v.Text, ":")
	if !found {
		kind, digits = "", v.Text
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	switch {
	case err != nil:
		return fmt.Errorf("--gpus must be a number, or a model and a number such as H100:4, not %q", v.Text)
	case found && strings.TrimSpace(kind) == "":
		return fmt.Errorf("--gpus %q has no model before the colon: write %d for any model, or a model such as H100:%d", v.Text, n, n)
	}
	r.GPUs, r.GPUType = &n, kind
	return nil
}

// setGPUsPerNode leaves the number of all GPUs to the number of nodes where --gpus has its usual value.
func setGPUsPerNode(r *wire.Submit, v *FlagValue) error {
	r.GPUsPerNode = new(v.Number)
	if r.GPUType == "" && Or(r.GPUs, 0) == 1 {
		r.GPUs = nil
	}
	return nil
}

// moreThanZero refuses a size of 0 of a field.
func moreThanZero(f Field, in func(*wire.Submit) **float64) Field {
	read := f.read
	f.read = func(r *wire.Submit, c *command.Submit, now model.Time) error {
		if gb := *in(r); gb != nil && *gb == 0 {
			return problem.Invalid(f.Name, "must be more than 0, or be left out for no limit")
		}
		return read(r, c, now)
	}
	return f
}

func nodes(field string, list []string) (string, error) {
	names, err := model.ParseNodes(strings.Join(list, ","))
	if err != nil {
		return "", problem.Invalid(field, err.Error())
	}
	return strings.Join(names, ","), nil
}
