package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humamux"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Sources of a log, in wire.HeaderSource.
const (
	SourceNode = "node"
	SourceTail = "tail"
)

// outputs serves the output of jobs, from the nodes that run them.
type outputs struct{ api *core.API }

// logInput is the input of GET /jobs/{job_id}/logs.
type logInput struct {
	Job     string `path:"job_id"`
	Task    string `query:"task" doc:"of an array: which one; an array as a whole has no output"`
	Attempt uint32 `query:"attempt" minimum:"1" doc:"the newest by default"`
	Rank    uint32 `query:"rank" maximum:"1023" doc:"of a gang; 0 by default"`
	Stream  string `query:"stream" enum:"stdout,stderr" default:"stdout"`
	Tail    uint32 `query:"tail" doc:"only the last lines; 0: none, and with follow only new lines; all by default"`
	Follow  bool   `query:"follow" doc:"go on until the rank ends"`

	Bytes  bool   `query:"bytes" doc:"bytes of the output only, with headers that say where they stand; the answer ends where bytes were not kept"`
	Offset int64  `query:"offset" minimum:"0" doc:"the answer, in bytes, begins there; excludes tail and before"`
	Before int64  `query:"before" minimum:"0" doc:"the answer, in bytes, ends there, and begins with a line if possible; excludes tail, offset and follow"`
	Limit  int64  `query:"limit_bytes" minimum:"1" maximum:"16777216" doc:"most bytes of the answer; by default 65536 with before, 262144 with grep, else all"`
	Grep   string `query:"grep" maxLength:"256" doc:"only lines with this text, each with its offset and a colon ahead; excludes tail, before and follow"`
	Fold   bool   `query:"ignore_case" doc:"with grep: upper and lower case are alike"`

	lines int64      // the value of Tail; -1: all
	exact url.Values // the parameters for bytes, which are the node's; empty: none
}

// exactParameters are those that ask for bytes, or for a part of them.
var exactParameters = []string{"bytes", "offset", "before", "limit_bytes", "grep", "ignore_case"}

// Resolve distinguishes a tail of 0 from none.
func (in *logInput) Resolve(ctx huma.Context) []error {
	in.lines = -1
	u := ctx.URL()
	values := u.Query()
	if values.Has("tail") {
		in.lines = int64(in.Tail)
	}
	in.exact = url.Values{}
	for _, name := range exactParameters {
		if values.Has(name) {
			in.exact.Set(name, values.Get(name))
		}
	}
	return in.contradictions(values)
}

// contradictions returns the parameters that exclude each other.
func (in *logInput) contradictions(values url.Values) (errs []error) {
	for _, c := range []struct {
		name     string
		excludes string
	}{{"offset", "tail before"}, {"before", "tail follow"}, {"grep", "tail before follow"}} {
		for other := range strings.FieldsSeq(c.excludes) {
			if values.Has(c.name) && values.Has(other) && (other != "follow" || in.Follow) {
				errs = append(errs, &huma.ErrorDetail{Location: "query." + c.name, Message: "excludes " + other + ": leave one of them out"})
			}
		}
	}
	if in.Fold && in.Grep == "" {
		errs = append(errs, &huma.ErrorDetail{Location: "query.ignore_case", Message: "needs grep"})
	}
	if values.Has("grep") && in.Grep == "" {
		errs = append(errs, &huma.ErrorDetail{Location: "query.grep", Message: "must be a text of 1 to 256 bytes"})
	}
	return errs
}

func (a outputs) route(doc huma.API) {
	o := core.Op("logs", http.MethodGet, "/jobs/{job_id}/logs", "A job's output")
	o.Description = "The output comes from the node that runs the job. While the node is unreachable, the answer is the end of " +
		"the output, if the rank has ended, and " + wire.HeaderSource + " says tail; a log that is followed waits for it while the rank runs. With bytes, offset, before, limit_bytes or grep the answer is never that end, " +
		"has no text that the job did not write, and has the headers " + wire.HeaderLogOffset + ", " + wire.HeaderLogSize + " and " + wire.HeaderLogEnded + ": a reader " +
		"whose connection breaks goes on at the offset behind the last byte, by any peer. An answer ends where bytes were not kept; the next one, for the offset of the " +
		"first of them, begins behind them. A search also has " + wire.HeaderLogNext + ", the offset for the next search."
	o.Responses = map[string]*huma.Response{
		"200":     {Description: "the output, unchanged", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: "string"}}}},
		"default": core.ProblemResponse(doc),
	}
	huma.Register(doc, o, func(ctx context.Context, in *logInput) (*core.LogOutput, error) {
		rank, node, err := a.find(ctx, in)
		if err != nil {
			return nil, problem.Of(a.api.Log, err)
		}
		return &core.LogOutput{Body: func(c huma.Context) {
			r, w := humamux.Unwrap(c)
			a.send(w, r, rank, node, in)
		}}, nil
	})
}

// oneTask finds a job and the task that a request names; of an array a task must be named.
func oneTask(ctx context.Context, api *core.API, name, task string) (s state.State, j model.Job, t model.Task, err error) {
	id, err := intake.JobID(name)
	if err != nil {
		return s, j, t, err
	}
	n, err := taskOf(task)
	if err != nil {
		return s, j, t, err
	}
	if s, err = api.Fresh(ctx, peer.Default); err != nil {
		return s, j, t, err
	}
	t, found := view.TaskAt(&s, id, n)
	if !found {
		return s, j, t, core.NoJob()
	}
	if j, _ = s.Jobs.Get(id); j.Array() && n == view.FirstTask {
		return s, j, t, problem.Invalid("task", fmt.Sprintf("job %s is an array of %d tasks, each with its own output and steps: give one of them, such as %d",
			id, j.Tasks, t.Key.Task))
	}
	return s, j, t, nil
}

// find returns which rank's output is asked for, and the address of its node.
func (a outputs) find(ctx context.Context, in *logInput) (k model.RankKey, address string, err error) {
	s, _, task, err := oneTask(ctx, a.api, in.Job, in.Task)
	if err != nil {
		return k, "", err
	}
	if task.Attempts == 0 {
		return k, "", problem.Refuse(wire.CodeNotFound, "the job has not started yet, so that there is no output")
	}
	k = task.Newest().Rank(in.Rank)
	if in.Attempt > 0 {
		k.N = in.Attempt
	}
	return k, nodeAddress(&s, k), rankThere(&s, k)
}

func rankThere(s *state.State, k model.RankKey) error {
	if s.Ranks.Has(k) {
		return nil
	}
	return problem.Refuse(wire.CodeNotFound, "the job has no such attempt or no such rank")
}

func nodeAddress(s *state.State, k model.RankKey) string {
	r, _ := s.Ranks.Get(k)
	n, _ := s.Nodes.Get(r.Node)
	return n.Address
}

// send passes on the node's log, or the tail that is kept here.
func (a outputs) send(w http.ResponseWriter, r *http.Request, k model.RankKey, node string, in *logInput) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(a.api.Context(), cancel)
	defer stop()
	begun, err := a.pass(ctx, w, k, node, in)
	if !begun {
		a.api.Log.Debug("a log cannot be read from its node", "rank", k, "err", err)
		a.sendElse(w, k, in, err)
		return
	}
	switch f := core.EndedBy(r.Context()); {
	case f != nil && (takesTrailers(r) || len(in.exact) == 0):
		closeLog(w, r, f)
	case f != nil: // no text of this peer among the bytes
		core.Cut(w)
	case err != nil && r.Context().Err() == nil:
		core.Cut(w)
	}
}

// pass passes on the node's log, and reports whether the answer has begun.
func (a outputs) pass(ctx context.Context, w http.ResponseWriter, k model.RankKey, node string, in *logInput) (begun bool, err error) {
	if in.Follow && len(in.exact) == 0 {
		return a.relay(ctx, w, k, in)
	}
	answer, err := a.ask(ctx, k, node, in)
	if err != nil {
		return false, err
	}
	defer func() { _ = answer.Body.Close() }()
	for _, name := range []string{wire.HeaderLogOffset, wire.HeaderLogSize, wire.HeaderLogEnded, wire.HeaderLogNext} {
		if value := answer.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	open(w, k)
	_, err = stream(w, answer.Body)
	return true, err
}

// open begins an answer from a node.
func open(w http.ResponseWriter, k model.RankKey) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set(wire.HeaderSource, SourceNode)
	w.Header().Set(wire.HeaderAttempt, decimal(k.N))
	w.Header().Set("Trailer", wire.TrailerProblem)
	w.WriteHeader(http.StatusOK)
}

// closeLog ends a log whose reader has lost the right to it with the reason: as a trailer for
// clients that accept trailers (RFC 9110, 10.1.4), else as a last line.
func closeLog(w http.ResponseWriter, r *http.Request, f *problem.Failure) {
	if !takesTrailers(r) {
		w = core.Conclude(w)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(core.FollowerSlow)) // a writer without deadlines has no slow client
		_, _ = io.WriteString(w, "\nberth: the output ends here: "+f.Detail+"\n")             // a client that has left needs no reason
		return
	}
	if data, err := json.Marshal(f.Problem); err == nil { // texts and numbers only
		w.Header().Set(wire.TrailerProblem, string(data))
	}
}

// takesTrailers reports whether a client announces that it reads trailers.
func takesTrailers(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Te"), func(list string) bool {
		return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool { return strings.EqualFold(strings.TrimSpace(one), "trailers") })
	})
}

// ask requests a log from the node. An answer with another status is an error.
func (a outputs) ask(ctx context.Context, k model.RankKey, node string, in *logInput) (*http.Response, error) {
	if node == "" {
		return nil, fmt.Errorf("the address of the node of %s is not known", k)
	}
	q := url.Values{
		"job": {k.Job.String()}, "task": {decimal(k.Task)}, "attempt": {decimal(k.N)}, "rank": {decimal(k.Rank)}, "stream": {in.Stream},
	}
	if in.lines >= 0 {
		q.Set("tail", decimal(in.Tail))
	}
	if in.Follow {
		q.Set("follow", "true")
	}
	maps.Copy(q, in.exact)
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(core.NodeLimit, cancel)
	r, err := core.NewRequest(ctx, http.MethodGet, node, "/node/logs?"+q.Encode(), nil)
	if err != nil {
		cancel()
		return nil, err
	}
	answer, err := a.api.Out.RoundTrip(r)
	if !late.Stop() || err != nil {
		cancel()
		if err == nil {
			err = answer.Body.Close()
		}
		return nil, fmt.Errorf("node at %s: no answer in time: %w", node, err)
	}
	if answer.StatusCode != http.StatusOK {
		cancel()
		return nil, errors.Join(&statusError{answer.StatusCode, node}, answer.Body.Close())
	}
	answer.Body = &cancelable{answer.Body, cancel}
	return answer, nil
}

// statusError is an answer of a node without output.
type statusError struct {
	status int
	node   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("node at %s answers with status %d", e.node, e.status)
}

// sendElse answers without the node: with the end of the output that is kept here, if the request is not for certain bytes.
func (a outputs) sendElse(w http.ResponseWriter, k model.RankKey, in *logInput, err error) {
	w.Header().Set(wire.HeaderAttempt, decimal(k.N))
	if len(in.exact) == 0 {
		a.sendTail(w, k, in)
		return
	}
	if s, is := errors.AsType[*statusError](err); is && s.status == http.StatusNotFound {
		problem.Refuse(wire.CodeNotFound, "the node has no "+in.Stream+" of this rank").Write(w)
		return
	}
	problem.Refuse(wire.CodeUnreachable, "the node that has the output cannot be reached; without offset, before, bytes and grep "+
		"the end of the output may be kept by the peers: try again later, or without them").Write(w)
}

// cancelable ends its request when it is closed.
type cancelable struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close ends the request.
func (c *cancelable) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// readerError is why an answer cannot be written to its reader.
type readerError struct{ err error }

func (e *readerError) Error() string { return e.err.Error() }
func (e *readerError) Unwrap() error { return e.err }

// stream copies output as it comes, and returns how much it has passed on. A client that does not read what it asked for is
// cut off: a readerError.
func stream(w http.ResponseWriter, from io.Reader) (sum int64, err error) {
	control := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(core.WriteLimit)) // a writer without deadlines has no slow client
			_, wrong := w.Write(buffer[:n])
			if wrong == nil {
				wrong = control.Flush()
			}
			if wrong != nil {
				return sum, &readerError{wrong}
			}
			sum += int64(n)
		}
		switch {
		case err == io.EOF:
			return sum, nil
		case err != nil:
			return sum, err
		}
	}
}

// sendTail sends the end of the output that this peer keeps.
func (a outputs) sendTail(w http.ResponseWriter, k model.RankKey, in *logInput) {
	t, found := a.api.Peer.Tails.Get(k)
	if !found {
		problem.Refuse(wire.CodeUnreachable, "the node that has the output cannot be reached, and the end of it is not kept here: "+
			"try again when the node can be reached").Write(w)
		return
	}
	data := t.Stdout
	if in.Stream == "stderr" {
		data = t.Stderr
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set(wire.HeaderSource, SourceTail)
	_, _ = w.Write(lastLines(data, in.lines)) // a client that has left needs no answer
}

// lastLines returns the last n lines; all if n is negative.
func lastLines(data []byte, n int64) []byte {
	switch {
	case n < 0:
		return data
	case n == 0:
		return nil
	}
	at := len(bytes.TrimSuffix(data, []byte("\n")))
	for range n {
		if at = bytes.LastIndexByte(data[:max(at, 0)], '\n'); at < 0 {
			return data
		}
	}
	return data[at+1:]
}
