package main

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// shared gives the API access to the settings of the whole cluster, by their names in the table of settings.
type shared struct{}

// List returns all values in force.
func (shared) List(s *state.State) (out []wire.Setting) {
	now, first := inForce(s), config.New().Cluster
	defaults := first.Settings()
	for i, row := range now.Settings() {
		out = append(out, wire.Setting{
			Name: row.Name, Value: row.Value.Text(), Default: defaults[i].Value.Text(), Allowed: row.Value.Kind(), What: row.Meaning(),
		})
	}
	return out
}

// Change returns the commands that give the named settings these values.
func (shared) Change(s *state.State, values map[string]string) ([]command.Body, error) {
	was := inForce(s)
	next := was
	if err := next.Set(values); err != nil {
		return nil, err
	}
	return next.Changes(was), nil
}

// compare logs, once this peer has the cluster's newest state, which settings of its file have no effect because the cluster has another
// value. A state that is still being replayed from the log may have the founders' values yet.
func (s *service) compare(ctx context.Context) {
	for ctx.Err() == nil {
		before := s.peer.State().Index
		st, err := s.peer.Read(ctx, peer.Linearizable, 0)
		if set := st.Settings(); err == nil && !set.Incarnation.IsZero() {
			for _, d := range s.settings.Differences(inForce(&st)) {
				s.log.Warn("without effect: " + d + "; berth config set changes what is in force")
			}
			return
		}
		select {
		case <-s.peer.Changed(model.TopicSet(0).With(model.TopicSettings), before):
		case <-time.After(time.Second): // there is no leader yet
		case <-ctx.Done():
		}
	}
}
