package main

import (
	"context"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// shared tells the API, by the names of the table of settings, what the cluster as a
// whole has one value of.
type shared struct{}

// List tells all values in force.
func (shared) List(s *state.State) (out []wire.Setting) {
	now, first := config.ClusterOf(s), config.New().Cluster
	defaults := first.Settings()
	for i, row := range now.Settings() {
		out = append(out, wire.Setting{
			Name: row.Name, Value: row.Value.Text(), Default: defaults[i].Value.Text(), Allowed: row.Value.Kind(), What: row.Meaning(),
		})
	}
	return out
}

// Change is the commands that give the named settings these values.
func (shared) Change(s *state.State, values map[string]string) ([]command.Body, error) {
	was := config.ClusterOf(s)
	next := was
	if err := next.Set(values); err != nil {
		return nil, err
	}
	return next.Changes(was), nil
}

// compare says, once this peer has the cluster's state, what it is configured with in
// vain: the cluster has another value.
func (s *service) compare(ctx context.Context) {
	for {
		st := s.peer.State()
		if set := st.Settings(); !set.Incarnation.IsZero() {
			for _, d := range s.settings.Differences(config.ClusterOf(&st)) {
				s.log.Warn("without effect: " + d + "; berth config set changes what is in force")
			}
			return
		}
		select {
		case <-s.peer.Changed(model.TopicSet(0).With(model.TopicSettings), st.Index):
		case <-ctx.Done():
			return
		}
	}
}
