package admin_test

import (
	"net/http"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestClusterSettings(t *testing.T) {
	s := apitest.New(t)
	var got wire.Settings
	s.Do(http.MethodGet, "/cluster/settings", "").Into(&got)
	if len(got.Settings) != 2 || got.Settings[1].Value != "0" {
		t.Errorf("they are %+v", got)
	}
	s.Do(http.MethodPut, "/cluster/settings", `{"settings": {"policy": "fcfs", "retries": "7"}}`).Into(&got)
	if got.Settings[0].Value != "fcfs" || got.Settings[1].Value != "7" {
		t.Errorf("changed, they are %+v", got)
	}
	for _, body := range []string{
		`{}`, `{"settings": {}}`, `{"settings": {"retries": "x"}}`, `{"settings": {"other": "1"}}`, `{"settings": {"retries": 7}}`,
		`{"settings": {"retries": "1", "retries": "2"}}`, `{"setting": {}}`, `[]`,
	} {
		if r := s.Do(http.MethodPut, "/cluster/settings", body); r.Status != http.StatusUnprocessableEntity && r.Status != http.StatusBadRequest {
			t.Errorf("%s: %d", body, r.Status)
		}
	}
	state := s.State()
	if set := state.Settings(); set.Policy != "fcfs" || set.Tuning.Retries != 7 {
		t.Errorf("what was refused has changed something: %+v", set)
	}
}

// A change that is sent again under its key is carried out once.
func TestClusterSettingsAreSetOnce(t *testing.T) {
	s := apitest.New(t)
	for range 2 {
		s.Do(http.MethodPut, "/cluster/settings", `{"settings": {"policy": "fcfs", "retries": "7"}}`, "Idempotency-Key", "key-1").Into(new(wire.Settings))
	}
	before := s.State().Index
	s.Do(http.MethodPut, "/cluster/settings", `{"settings": {"policy": "fcfs", "retries": "7"}}`, "Idempotency-Key", "key-1").Into(new(wire.Settings))
	state := s.State()
	if set := state.Settings(); set.Policy != "fcfs" || set.Tuning.Retries != 7 || state.Requests.Len() != 2 {
		t.Errorf("%d requests are remembered, the index went from %d to %d", state.Requests.Len(), before, state.Index)
	}
}
