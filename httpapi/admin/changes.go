package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// changesEvery is the shortest time between two events of a stream of changes.
const changesEvery = 250 * time.Millisecond

// watched returns the topics of a stream of changes. Leases are left out: they change all the time, and no list shows them.
func watched() []model.Topic {
	return []model.Topic{model.TopicNode, model.TopicJob, model.TopicQueue, model.TopicFleet, model.TopicSettings}
}

// checkChanges refuses filters, which a stream of changes does not have.
func checkChanges(in *eventsInput) error {
	if in.Job != "" || in.User != "" || in.Node != "" || in.Actor != "" || in.Target != "" || in.Last != 0 || in.After != "" || in.LastEvent != "" {
		return problem.Invalid("types", wire.EventChanged+" says which parts of the state have changed, and takes no filter and no position")
	}
	return nil
}

// changes streams the log indices at which the parts of the state last changed: now, and after each change.
func (a events) changes(ctx context.Context, out *subscriber, once bool) {
	set := core.Topics(watched()...)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for ctx.Err() == nil {
		s := a.api.State()
		at := core.LastOf(&s, set)
		c := wire.Changed{Index: s.Index, Topics: map[string]uint64{}}
		for _, t := range watched() {
			c.Topics[t.String()] = s.Settings().Topics[t]
		}
		data, err := json.Marshal(c)
		if err != nil || out.write([]byte("event: "+wire.EventChanged+"\ndata: "+string(data)+"\n\n")) != nil || once {
			return
		}
		pause := time.NewTimer(changesEvery)
		for changed := false; !changed; {
			select {
			case <-a.api.Changed(set, at):
				s := a.api.State()
				changed = core.LastOf(&s, set) > at // it may wake early
			case <-beat.C:
				if out.write([]byte(": still here\n\n")) != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// begin starts a stream of events.
func begin(w http.ResponseWriter) *subscriber {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &subscriber{w, http.NewResponseController(w)}
}
