package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// No answer shows what a job runs to a caller that may not see it.
func TestWhatOthersRun(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(apitest.Secretive(""))
	paths := []string{"/jobs?user=ann", "/jobs/2", "/jobs/2?task=1", "/jobs/2/tasks", "/jobs/2/explain", "/runs/run-1", "/runs/run-1?all=true", "/queue?ended=10"}
	for _, rule := range apitest.Routes(s) {
		if rule.Method == http.MethodGet && (rule.Least == model.RoleViewer || rule.Least == model.RoleUser || rule.Open()) {
			paths = append(paths, rule.Filled)
		}
	}
	for _, path := range paths {
		for _, token := range []string{apitest.Viewer, apitest.Bob} {
			if r := s.Do(http.MethodGet, path, "", apitest.As(token)...); strings.Contains(string(r.Body), apitest.Marker) {
				t.Errorf("%s tells %s: %s", path, token, r.Body)
			}
		}
	}
	var d wire.Detail
	s.Do(http.MethodGet, "/jobs/2", "", apitest.As(apitest.Bob)...).Into(&d)
	if !d.CommandHidden || d.Name != "llama" || d.User != "ann" || d.GPUs != 1 {
		t.Errorf("told is %+v", d)
	}
	for _, token := range []string{apitest.Ann, apitest.Operator, apitest.Adam} {
		var d wire.Detail
		s.Do(http.MethodGet, "/jobs/2?task=0", "", apitest.As(token)...).Into(&d)
		if d.CommandHidden || !strings.Contains(d.Command, apitest.Marker) || !strings.Contains(d.WorkDir, apitest.Marker) ||
			d.Params["key"] != apitest.Marker {
			t.Errorf("%s is told %+v", token, d)
		}
	}
}

// Which other users see what jobs run is a setting of the cluster.
func TestWhoSeesCommands(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		audience         model.Audience
		vera, bob, carol bool // carol is in the project
	}{
		{model.AudienceProject, false, false, true},
		{model.AudienceUser, false, false, false},
		{model.AudienceAll, true, true, true},
	} {
		s := apitest.NewGuarded(t)
		const carol = "berth_user_carol"
		s.With(apitest.Secretive("vision"))
		s.With(func(c *statetest.Cluster) {
			c.Do(&command.MakeToken{Hash: auth.HashOf(carol), User: "carol", Role: model.RoleUser})
			c.Do(&command.SetUser{User: "carol", Join: []string{"vision"}})
			c.Do(&command.SetUser{User: "vera", Join: []string{"vision"}})
			c.Do(&command.SetDefaults{Defaults: model.Defaults{Commands: v.audience}})
		})
		for token, want := range map[string]bool{apitest.Viewer: v.vera, apitest.Bob: v.bob, carol: v.carol, apitest.Ann: true} {
			var d wire.Detail
			s.Do(http.MethodGet, "/jobs/1", "", apitest.As(token)...).Into(&d)
			if strings.Contains(d.Command+d.WorkDir, apitest.Marker) != want || d.CommandHidden == want {
				t.Errorf("shown to %s: %s is told %q", v.audience, token, d.Command)
			}
		}
	}
}
