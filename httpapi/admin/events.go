package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humamux"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/notify"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Bounds of event streams.
const (
	heartbeat    = 15 * time.Second // between two heartbeats of a stream without events
	eventsAtOnce = 256              // of one write
)

// events streams events.
type events struct{ api *core.API }

// eventsInput is the input of GET /events.
type eventsInput struct {
	Types     string `query:"types" maxLength:"512" doc:"only these, such as job.started,node.* or failed; or changed alone"`
	Job       string `query:"job" maxLength:"32" doc:"only of this job"`
	User      string `query:"user" maxLength:"128" doc:"only of this user's jobs and services"`
	Node      string `query:"node" maxLength:"128" doc:"only of this node"`
	Actor     string `query:"actor" maxLength:"256" doc:"only actions of this one: user:alice or alice, node:gpu1, peer:p2"`
	Target    string `query:"target" maxLength:"256" doc:"only events of this target: 'job 17', with its tasks; 'node gpu1', 'peer p2'"`
	Last      int    `query:"last" minimum:"0" maximum:"10000" doc:"begin with this many of the newest kept events"`
	Once      bool   `query:"once" doc:"end after those, in place of following"`
	After     string `query:"after" maxLength:"64" doc:"continue after this id; as the header Last-Event-ID"`
	LastEvent string `header:"Last-Event-ID" doc:"continue after this id"`
}

// eventStream is a follower's request.
type eventStream struct {
	types  model.NoticeSet
	job    model.JobID
	user   string
	node   model.NodeID
	actor  string
	target string
	at     model.NoticePlace // what was sent last
	reset  string            // id to go on from after a reset; empty: no event was missed
	once   bool

	changes bool // of the parts of the state, in place of notices
}

// wants reports whether a notice matches the request.
func (q *eventStream) wants(n *model.Notice) bool {
	return q.types.Has(n.Kind) && (q.job == 0 || n.Job == q.job) && (q.user == "" || n.User == q.user) && (q.node == "" || n.Node == q.node) &&
		archive.ByActor(q.actor, n.Actor) && (q.target == "" || archive.OfTarget(q.target, notify.Target(n)))
}

func (a events) route(doc huma.API) {
	o := core.Op("events", http.MethodGet, "/events", "Events, as they happen")
	o.Description = "Server-sent events: data is a notice as JSON, id the same on every peer. With Last-Event-ID the stream continues " +
		"after an event, at any peer. An event of type " + wire.EventReset + " means that the requested position is no longer " +
		"kept: read again what was built from events. An event of type " + wire.EventClosed + " is the last one: its data is a problem " +
		"with the reason why the caller may not read on, such as an expired token."
	o.Description += " With types=" + wire.EventChanged + " the stream has events of this type only, at most four a second: the log indices at which the " +
		"parts of the state last changed, with which clients find out which lists to read again."
	o.Responses = map[string]*huma.Response{
		"200": {Description: "events, one after the other", Content: map[string]*huma.MediaType{"text/event-stream": {
			Schema: doc.OpenAPI().Components.Schemas.Schema(noticeType(), true, ""),
		}}},
		"default": core.ProblemResponse(doc),
	}
	huma.Register(doc, o, func(ctx context.Context, in *eventsInput) (*core.LogOutput, error) {
		q, err := a.parse(ctx, in)
		if err != nil {
			return nil, problem.Of(a.api.Log, err)
		}
		return &core.LogOutput{Body: func(c huma.Context) {
			r, w := humamux.Unwrap(c)
			a.send(w, r, q)
		}}, nil
	})
}

// parse parses the request, and finds where the stream begins.
func (a events) parse(ctx context.Context, in *eventsInput) (*eventStream, error) {
	q := &eventStream{
		types: model.AllNotices().With(model.NoticeTest), user: in.User, node: model.NodeID(in.Node), actor: in.Actor, target: in.Target,
		once: in.Once,
	}
	if in.Types == wire.EventChanged {
		q.changes = true
		return q, checkChanges(in)
	}
	var err error
	if in.Types != "" {
		if q.types, err = model.ParseNotices(strings.Split(in.Types, ","), model.AllNotices()); err != nil {
			return nil, problem.Renamed("types", err)
		}
	}
	if in.Job != "" {
		if q.job, err = intake.JobID(in.Job); err != nil {
			return nil, err
		}
	}
	s, err := a.api.Fresh(ctx, peer.Default)
	if err != nil {
		return nil, err
	}
	id := in.LastEvent
	if id == "" {
		id = in.After
	}
	feed := a.api.Peer.Feed
	if id == "" {
		q.at = feed.Before(in.Last, q.wants)
		return q, nil
	}
	at, here, known := notify.ParseID(id, s.Settings().Incarnation)
	if !known {
		return nil, problem.Invalid(wire.HeaderLastEvent, "must be the id of an event")
	}
	if here && at.Index > s.Index { // another peer may be ahead of this one, but no id is ahead of the log
		if s, err = a.api.Fresh(ctx, peer.Linearizable); err != nil {
			return nil, err
		}
		here = at.Index <= s.Index
	}
	if _, gone := feed.After(at, 1); gone || !here {
		q.at = feed.Last()
		q.reset = notify.PlaceID(s.Settings().Incarnation, q.at)
		return q, nil
	}
	q.at = at
	return q, nil
}

// send sends events until the follower leaves, is too slow or loses the right to read, or this peer
// ends.
func (a events) send(w http.ResponseWriter, r *http.Request, q *eventStream) {
	a.follow(w, r, q)
	if f := core.EndedBy(r.Context()); f != nil {
		out := subscriber{core.Conclude(w), http.NewResponseController(w)}
		_ = out.write(closedFrame(f)) // a follower that has left needs no reason
	}
}

// follow sends events for as long as the follower may read them.
func (a events) follow(w http.ResponseWriter, r *http.Request, q *eventStream) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(a.api.Context(), cancel)
	defer stop()
	out := begin(w)
	if q.changes {
		a.changes(ctx, out, q.once)
		return
	}
	greeting := ": events follow\n\n"
	if q.reset != "" {
		greeting = resetFrame(q.reset, a.api.Config.Now())
	}
	if out.write([]byte(greeting)) != nil {
		return
	}
	for ctx.Err() == nil {
		data, gone := a.next(q)
		if gone { // events that it has missed are no longer kept: it gets a reset
			core.Cut(w)
			return
		}
		if len(data) > 0 {
			if out.write(data) != nil {
				return
			}
			continue
		}
		if q.once || !a.await(ctx, q, out) {
			return
		}
	}
}

// next returns what must be sent now; empty once there is nothing more.
func (a events) next(q *eventStream) (data []byte, gone bool) {
	for len(data) == 0 {
		list, gone := a.api.Peer.Feed.After(q.at, eventsAtOnce)
		if gone || len(list) == 0 {
			return nil, gone
		}
		for _, item := range list {
			if q.wants(&item.Notice) {
				data = append(data, item.Frame(frameOf)...)
			}
		}
		q.at = list[len(list)-1].Notice.Place()
	}
	return data, false
}

// await waits until there are new events, and sends heartbeats meanwhile; false: the follower is
// gone.
func (a events) await(ctx context.Context, q *eventStream, out *subscriber) bool {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	news := a.api.Peer.Feed.Changed(q.at)
	for {
		select {
		case <-news:
			return true
		case <-beat.C:
			if out.write([]byte(": still here\n\n")) != nil {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}

// subscriber is one end of a stream. Only its own goroutine waits for it, for a limited time.
type subscriber struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (f *subscriber) write(data []byte) error {
	_ = f.control.SetWriteDeadline(time.Now().Add(core.FollowerSlow)) // a writer without deadlines has no slow client
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.control.Flush()
}

// frameOf returns a notice in the format of the stream.
func frameOf(n *model.Notice) []byte {
	e := notify.EventOf(n)
	data, err := json.Marshal(e)
	if err != nil { // texts and numbers only
		return nil
	}
	return []byte("id: " + e.ID + "\ndata: " + string(data) + "\n\n")
}

// closedFrame returns the last event of a stream whose follower has lost the right to read on.
func closedFrame(f *problem.Failure) []byte {
	data, err := json.Marshal(f.Problem)
	if err != nil { // texts and numbers only
		return nil
	}
	return []byte("event: " + wire.EventClosed + "\ndata: " + string(data) + "\n\n")
}

func resetFrame(id string, at time.Time) string {
	data, err := json.Marshal(wire.Notice{
		ID: id, Type: wire.EventReset, Timestamp: at.UTC(), Target: "events", Result: "events before this one are not kept here: read again what was built from them",
	})
	if err != nil {
		return ""
	}
	return "id: " + id + "\nevent: " + wire.EventReset + "\ndata: " + string(data) + "\n\n"
}
