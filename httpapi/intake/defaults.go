package intake

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/partition"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// SavedDefaults converts the defaults of jobs to their form in state files, in which members have the names of
// [model.JobDefaults].
func SavedDefaults(d *model.Defaults) (*wire.SavedDefaults, error) {
	if *d == (model.Defaults{}) {
		return nil, nil
	}
	values := map[string]any{}
	for _, p := range model.JobDefaults() {
		text := p.Value(d)
		if text == p.Value(&model.Defaults{}) {
			continue
		}
		switch values[p.Name] = text; {
		case p.Numeric:
			values[p.Name] = json.Number(text)
		case text == "true": // nothing else is a switch that is on
			values[p.Name] = true
		}
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	out := &wire.SavedDefaults{}
	return out, json.Unmarshal(raw, out)
}

// defaultsOf is the inverse of [SavedDefaults].
func defaultsOf(saved *wire.SavedDefaults) (out model.Defaults, err error) {
	raw, err := json.Marshal(saved)
	if err != nil {
		return out, err
	}
	values := map[string]any{}
	if err := json.Unmarshal(raw, &values); err != nil {
		return out, err
	}
	for _, p := range model.JobDefaults() {
		var text string
		switch v := values[p.Name].(type) {
		case nil:
			continue
		case string:
			text = v
		case bool:
			text = strconv.FormatBool(v)
		case float64:
			if text = strconv.FormatFloat(v, 'f', -1, 64); !p.Numeric { // a time in seconds
				text += "s"
			}
		}
		if wrong, is := errors.AsType[*model.Problem](p.Set(&out, text)); is {
			return out, problem.Invalid(p.Name, "must be "+wrong.Want)
		}
	}
	for name, text := range map[string]string{"partitions": out.Partitions, "qos": out.QOS} { // order-free: any of two faults
		if _, err := partition.Parse(text); err != nil {
			return out, problem.Invalid(name, err.Error())
		}
	}
	return out, nil
}

// usualCPUs gives a job without GPUs one core.
func usualCPUs(r *wire.Submit, s *model.Spec, _ *model.Settings) {
	if s.WithoutGPUs() && r.CPUs == nil {
		s.CPUs = 1
	}
}

// usualMemory gives a job without GPUs the cluster's memory for each of its cores.
func usualMemory(r *wire.Submit, s *model.Spec, set *model.Settings) {
	if s.WithoutGPUs() && r.HostMemory == nil {
		s.MemoryMB = set.Defaults.MemoryPer(s.CPUs)
	}
}
