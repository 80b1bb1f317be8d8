package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// marker stands in all that a job runs and that may be a secret.
const marker = "S3CRET"

// secretive are jobs of ann's, one of them an array, whose commands hold the marker.
func secretive(project string) func(*statetest.Cluster) {
	return func(c *statetest.Cluster) {
		c.Node("n1", 2)
		set := func(b *command.Submit) {
			b.Spec.User, b.Spec.Project, b.Spec.Name, b.Spec.RunID = "ann", project, "llama", "run-1"
			b.Spec.Command, b.Spec.WorkDir = "train --key "+marker, "/data/"+marker
			b.Env, b.Script = []string{"KEY=" + marker}, "#!/bin/sh\necho "+marker
		}
		c.Submit(1, set)
		c.Submit(1, func(b *command.Submit) {
			set(b)
			b.Tasks, b.Spec.Sweep, b.Spec.Array = 2, "key="+marker+",other", "0-1"
		})
	}
}

// No answer shows what a job runs to a caller that may not see it.
func TestWhatOthersRun(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	s.with(secretive(""))
	paths := []string{"/jobs?user=ann", "/jobs/2", "/jobs/2?task=1", "/jobs/2/tasks", "/jobs/2/explain", "/runs/run-1", "/runs/run-1?all=true", "/queue?ended=10"}
	for _, rule := range auth.Rules() {
		if rule.Method == http.MethodGet && (rule.Least == model.RoleViewer || rule.Least == model.RoleUser || rule.Open()) {
			paths = append(paths, strings.Replace(filled(rule.Path), "/runs/{run_id}", "/runs/run-1", 1))
		}
	}
	for _, path := range paths {
		for _, token := range []string{viewer, bob} {
			if r := s.do(http.MethodGet, path, "", as(token)...); strings.Contains(string(r.body), marker) {
				t.Errorf("%s tells %s: %s", path, token, r.body)
			}
		}
	}
	var d wire.Detail
	s.do(http.MethodGet, "/jobs/2", "", as(bob)...).into(&d)
	if !d.CommandHidden || d.Name != "llama" || d.User != "ann" || d.GPUs != 1 {
		t.Errorf("told is %+v", d)
	}
	for _, token := range []string{ann, operatr, adam} {
		var d wire.Detail
		s.do(http.MethodGet, "/jobs/2?task=0", "", as(token)...).into(&d)
		if d.CommandHidden || !strings.Contains(d.Command, marker) || !strings.Contains(d.WorkDir, marker) || d.Params["key"] != marker {
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
		s := newGuarded(t)
		const carol = "berth_user_carol"
		s.with(secretive("vision"))
		s.with(func(c *statetest.Cluster) {
			c.Do(&command.MakeToken{Hash: auth.HashOf(carol), User: "carol", Role: model.RoleUser})
			c.Do(&command.SetUser{User: "carol", Join: []string{"vision"}})
			c.Do(&command.SetUser{User: "vera", Join: []string{"vision"}})
			c.Do(&command.SetDefaults{Defaults: model.Defaults{Commands: v.audience}})
		})
		for token, want := range map[string]bool{viewer: v.vera, bob: v.bob, carol: v.carol, ann: true} {
			var d wire.Detail
			s.do(http.MethodGet, "/jobs/1", "", as(token)...).into(&d)
			if strings.Contains(d.Command+d.WorkDir, marker) != want || d.CommandHidden == want {
				t.Errorf("shown to %s: %s is told %q", v.audience, token, d.Command)
			}
		}
	}
}
