package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/cluster/soft"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/forward"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/test/sim/simnet"
)

// Bounds of connections, as berth server has them.
const (
	dialLimit   = 2 * time.Second
	headerLimit = 5 * time.Second
	idleLimit   = 2 * time.Minute
)

// pathCommand takes an encoded entry of one command: users' commands for which the API has no path. The request id is that of the command.
const pathCommand = "/command"

// door is the entrance to one peer: the production API over HTTP, and one path more.
type door struct {
	*joint

	api    *core.API
	server *http.Server
	end    context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	keys map[string]bool // of submissions that were passed on to this peer
}

func apiAddress(machine string) string  { return machine + ":8000" }
func raftAddress(machine string) string { return machine + ":7000" }

// openDoor opens the entrance.
func openDoor(p *peer, net *simnet.Host, run *cluster.Peer) (*door, error) {
	answers, calls := run.Calls()
	d := &door{joint: newJoint(p, run), keys: map[string]bool{}}
	api := httpapi.New(core.Config{
		Self: model.PeerID(p.name), Version: "sim", Dial: dialer(net), Now: p.clock.Wall, Log: p.w.logger(p.name), Own: []string{apiAddress(p.name)},
		// ranks here have no output, so there are no tails
		Peer: core.Peer{
			Proposer: d, Reader: d, Members: d, Telemetry: soft.NewBoard(p.clock.Boot), Beats: run.Soft().Beats, Feed: run.Soft().Feed,
			Archive: &apitest.Shelf{}, Refusals: &apitest.Refusals{}, Reads: &apitest.Refusals{}, History: &history.Ring{},
			Answers: answers, Calls: calls,
		},
	})
	listener, err := net.Listen(apiAddress(p.name))
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	d.api, d.end = api, end
	routes := d.routes(calls)
	forward.Serve(answers, routes) // in place of the API alone
	d.server = &http.Server{Handler: routes, ReadHeaderTimeout: headerLimit, IdleTimeout: idleLimit}
	d.work.Go(func() { d.Watch(ctx) })
	d.work.Go(func() { _ = d.server.Serve(p.w.certificates.Front(p.name, listener)) }) // it ends with the machine's network at the latest
	return d, nil
}

// routes returns the API, and in addition the path for all commands.
func (d *door) routes(calls *call.Client) http.Handler {
	passes := forward.New(forward.Config{Members: d, Send: forward.Over(calls), Refuse: refuse})
	mux := http.NewServeMux()
	mux.Handle("/", d.api)
	mux.Handle("POST "+pathCommand, passes.Wrap(http.HandlerFunc(d.propose), forward.Rule{MaxBody: 1 << 20, Keyed: true}))
	if d.machine.w.Twists.NewKeys {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d.rename(r)
			mux.ServeHTTP(w, r)
		})
	}
	return mux
}

// close closes the entrance and ends every request under way.
func (d *door) close() {
	d.end()
	ended, end := context.WithCancel(context.Background())
	end()
	_ = d.api.Shutdown(ended) // it serves no listener: this ends its long polls and its connections, and waits for nothing
	_ = d.server.Close()
	d.work.Wait()
}

// rename gives a submission that another peer sends again another key, as if that peer had drawn it.
func (d *door) rename(r *http.Request) {
	if forward.PassedOn(r.Context()) == nil || r.URL.Path != "/queue/submit" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := r.Header.Get(wire.HeaderRequestID)
	if d.keys[key] {
		r.Header.Set(wire.HeaderRequestID, uuid.NewString())
	}
	d.keys[key] = true
}

// propose carries out the command of an encoded entry.
func (d *door) propose(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, r, wire.CodeMalformed, err.Error())
		return
	}
	entry, err := command.Decode(data)
	if err != nil {
		refuse(w, r, wire.CodeMalformed, err.Error())
		return
	}
	results, index, err := d.Propose(r.Context(), entry.Commands...)
	fault, known := errors.AsType[*problem.Fault](err)
	switch {
	case known:
		refuse(w, r, fault.Code, err.Error())
	case err != nil:
		refuse(w, r, wire.CodeOutcomeUnknown, err.Error())
	case results[0].Code == model.CodeOK:
		w.Header().Set(wire.HeaderIndex, strconv.FormatUint(index, 10))
	default:
		refuse(w, r, results[0].Code.String(), results[0].Detail)
	}
}

// refuse answers with a code: one of the peer's own that asks for a retry, or one of the state.
func refuse(w http.ResponseWriter, _ *http.Request, code, detail string) {
	status := http.StatusConflict
	switch code {
	case wire.CodeNoLeader, wire.CodeOutcomeUnknown, wire.CodeOverloaded, wire.CodeNoSpace, wire.CodeDiverged, wire.CodeBehind,
		model.CodeNotBootstrapped.String(), model.CodeClock.String(), model.CodeRequestsFull.String():
		status = http.StatusServiceUnavailable
	}
	w.Header().Set(wire.HeaderCode, code)
	http.Error(w, detail, status)
}

// dialer dials from a machine as HTTP asks for it.
func dialer(h *simnet.Host) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, _, address string) (net.Conn, error) { return h.Dial(address, dialLimit) }
}
