package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"

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

func TestClusterSettings(t *testing.T) {
	s := newSite(t)
	var got wire.Settings
	s.do(http.MethodGet, "/cluster/settings", "").into(&got)
	if len(got.Settings) != 2 || got.Settings[1].Value != "0" {
		t.Errorf("they are %+v", got)
	}
	s.do(http.MethodPut, "/cluster/settings", `{"settings": {"policy": "fcfs", "retries": "7"}}`).into(&got)
	if got.Settings[0].Value != "fcfs" || got.Settings[1].Value != "7" {
		t.Errorf("changed, they are %+v", got)
	}
	for _, body := range []string{
		`{}`, `{"settings": {}}`, `{"settings": {"retries": "x"}}`, `{"settings": {"other": "1"}}`, `{"settings": {"retries": 7}}`,
		`{"settings": {"retries": "1", "retries": "2"}}`, `{"setting": {}}`, `[]`,
	} {
		if r := s.do(http.MethodPut, "/cluster/settings", body); r.status != http.StatusUnprocessableEntity && r.status != http.StatusBadRequest {
			t.Errorf("%s: %d", body, r.status)
		}
	}
	state := s.State()
	if set := state.Settings(); set.Policy != "fcfs" || set.Tuning.Retries != 7 {
		t.Errorf("what was refused has changed something: %+v", set)
	}
}

// A change that is sent again under its key is carried out once.
func TestClusterSettingsAreSetOnce(t *testing.T) {
	s := newSite(t)
	for range 2 {
		s.do(http.MethodPut, "/cluster/settings", `{"settings": {"policy": "fcfs", "retries": "7"}}`, "Idempotency-Key", "key-1").into(new(wire.Settings))
	}
	before := s.State().Index
	s.do(http.MethodPut, "/cluster/settings", `{"settings": {"policy": "fcfs", "retries": "7"}}`, "Idempotency-Key", "key-1").into(new(wire.Settings))
	state := s.State()
	if set := state.Settings(); set.Policy != "fcfs" || set.Tuning.Retries != 7 || state.Requests.Len() != 2 {
		t.Errorf("%d requests are remembered, the index went from %d to %d", state.Requests.Len(), before, state.Index)
	}
}
