package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humamux"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/endpoint"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/tunnel"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// tunnels connects programs outside of a job to the job's server of steps.
type tunnels struct{ api *core.API }

type stepsInput struct {
	Job  string `path:"job_id"`
	Task string `query:"task" doc:"of an array: which one"`

	Session string `query:"session" required:"true" pattern:"^[0-9a-f]{32}$" doc:"random name of the stream that the tunnel carries"`
	Resume  bool   `query:"resume" doc:"the tunnel goes on with a stream whose tunnel was lost"`
}

func (a tunnels) route(doc huma.API) {
	o := core.Op("steps", http.MethodGet, "/jobs/{job_id}/steps", "Run steps in a job in Slurm's language")
	o.Description = "A WebSocket with the subprotocol " + tunnel.Protocol + ", by which srun and salloc of Berth reach the job's server of steps on its first node. The stream that the tunnel carries " +
		"outlives the tunnel for " + tunnel.ResumeFor.String() + ", so that another tunnel, by any peer, goes on with resume. " +
		"Steps run with the account of the job, so only the job's user has access; operators do not. The answer " + model.CodeUnavailable.String() + " says that the job has not started, " +
		"or that its server of steps does not answer yet."
	o.Responses = map[string]*huma.Response{
		"101":     {Description: "binary messages, whose bytes are one stream in each direction"},
		"default": core.ProblemResponse(doc),
	}
	huma.Register(doc, o, func(ctx context.Context, in *stepsInput) (*core.LogOutput, error) {
		rank, node, err := a.find(ctx, in)
		if err != nil {
			return nil, problem.Of(a.api.Log, err)
		}
		return &core.LogOutput{Body: func(c huma.Context) {
			r, w := humamux.Unwrap(c)
			a.serve(w, r, rank, node, in)
		}}, nil
	})
}

// find returns the first rank of a job that runs, and the address of its node.
func (a tunnels) find(ctx context.Context, in *stepsInput) (k model.RankKey, node string, err error) {
	s, job, task, err := oneTask(ctx, a.api, in.Job, in.Task)
	switch id := job.ID; {
	case err != nil:
		return k, "", err
	case job.Spec.Slurm == "":
		return k, "", problem.Invalid("job_id", fmt.Sprintf("job %s has no steps: only jobs of sbatch, salloc and srun do", id))
	case task.State.Terminal():
		return k, "", problem.Refuse(model.CodeTerminal.String(), fmt.Sprintf("job %s has ended", id))
	case !task.State.Live():
		return k, "", problem.Refuse(model.CodeUnavailable.String(), fmt.Sprintf("job %s does not run yet, so that it has no steps", id))
	}
	k = task.Newest().Rank(0)
	return k, nodeAddress(&s, k), nil
}

// serve passes all bytes on between the caller and the node.
func (a tunnels) serve(w http.ResponseWriter, r *http.Request, k model.RankKey, node string, in *stepsInput) {
	if err := tunnel.Asked(r); err != nil {
		problem.Refuse(wire.CodeInvalid, err.Error()).Write(w)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(a.api.Context(), cancel)
	defer stop()
	server, f := a.dial(ctx, k, node, in)
	if f != nil {
		f.Write(w)
		return
	}
	caller, err := tunnel.Accept(ctx, w, r)
	if err != nil {
		_ = server.Close()
		return
	}
	tunnel.Join(ctx, caller, server)
}

// dial connects to the server of steps by its node.
func (a tunnels) dial(ctx context.Context, k model.RankKey, node string, in *stepsInput) (*tunnel.Conn, *problem.Failure) {
	q := url.Values{"job": {k.Job.String()}, "task": {decimal(k.Task)}, "attempt": {decimal(k.N)}, "rank": {decimal(k.Rank)}, "session": {in.Session}}
	if in.Resume {
		q.Set("resume", "true")
	}
	to, err := endpoint.URL(node, "/node/steps?"+q.Encode())
	if err != nil {
		err = errors.New("the address of the node of " + k.String() + " is not known")
	}
	var answer *http.Response
	var server *tunnel.Conn
	if err == nil {
		server, answer, err = tunnel.Dial(ctx, a.api.Out, to, http.Header{"User-Agent": {"berth"}}, core.NodeLimit)
	}
	switch {
	case err == nil:
		return server, nil
	// an agent that has just started may not know the rank yet
	case answer != nil && (answer.StatusCode == http.StatusNotFound && !in.Resume || answer.StatusCode == http.StatusGone):
		return nil, problem.Refuse(model.CodeUnavailable.String(), "the server of steps of job "+k.Job.String()+" does not answer yet, or has ended")
	}
	level := slog.LevelInfo
	if in.Resume { // many in a second
		level = slog.LevelDebug
	}
	a.api.Log.Log(ctx, level, "steps_unreachable", "rank", k, "node", node, "err", err)
	return nil, problem.Refuse(wire.CodeUnreachable, "the node that runs the job cannot be reached by this peer: try again, or another peer")
}
