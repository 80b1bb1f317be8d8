package apitest

import (
	"errors"
	"slices"
	"strconv"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// switches is a table of two settings.
type switches struct{}

func (switches) List(s *state.State) []wire.Setting {
	set := s.Settings()
	return []wire.Setting{
		{Name: "policy", Value: set.Policy, Allowed: "a policy"},
		{Name: "retries", Value: strconv.Itoa(int(set.Tuning.Retries)), Allowed: "a number"},
	}
}

func (switches) Change(s *state.State, values map[string]string) (out []command.Body, err error) {
	for name, v := range values {
		switch n, wrong := strconv.ParseUint(v, 10, 32); {
		case name == "policy":
			out = append(out, &command.SetPolicy{Policy: v})
		case name != "retries" || wrong != nil:
			return nil, errors.New("retries must be a number, and there is nothing else")
		default:
			tuning := s.Settings().Tuning
			tuning.Retries = uint32(n)
			out = append(out, &command.SetTuning{Tuning: tuning})
		}
	}
	slices.SortFunc(out, func(a, b command.Body) int { return int(a.Kind()) - int(b.Kind()) })
	return out, nil
}
