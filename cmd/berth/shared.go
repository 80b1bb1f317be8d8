package main

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster"
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

// compare says, once this peer has the cluster's newest state, what it is configured with
// in vain: the cluster has another value. A state that is still being replayed from the
// log may have the founders' values yet.
func (s *service) compare(ctx context.Context) {
	for ctx.Err() == nil {
		before := s.peer.State().Index
		st, err := s.peer.Read(ctx, cluster.Linearizable, 0)
		if set := st.Settings(); err == nil && !set.Incarnation.IsZero() {
			for _, d := range s.settings.Differences(config.ClusterOf(&st)) {
				s.log.Warn("without effect: " + d + "; berth config set changes what is in force")
			}
			return
		}
		select {
		case <-s.peer.Changed(model.TopicSet(0).With(model.TopicSettings), before):
		case <-time.After(time.Second): // nobody leads yet
		case <-ctx.Done():
		}
	}
}
