package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// What clients do, and what they are told.
type (
	input struct {
		do string // submit, cancel, get, list
		id string // of cancel and get
	}
	output struct {
		unknown bool            // no answer: it may or may not have been done
		id      string          // of submit
		state   string          // of cancel and get; "none" if there is no such job
		states  map[string]bool // of list: which jobs wait
	}
)

// queueModel is a queue on a cluster without nodes: jobs wait until they are
// canceled. Its state maps each job to whether it waits.
func queueModel() porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return map[string]bool{} },
		Equal: func(a, b any) bool { return maps.Equal(a.(map[string]bool), b.(map[string]bool)) }, //nolint:errcheck // the model's own
		Step: func(state, in, out any) (bool, any) {
			return step(state.(map[string]bool), in.(input), out.(output)) //nolint:errcheck // the model's own
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v -> %v", in, out) },
	}
}

func step(jobs map[string]bool, in input, out output) (bool, any) {
	switch in.do {
	case "submit":
		if out.unknown {
			return true, jobs // its job is known by no name: no later answer speaks of it but list, which is told apart
		}
		if _, there := jobs[out.id]; there {
			return false, jobs
		}
		return true, with(jobs, out.id, true)
	case "cancel":
		if _, there := jobs[in.id]; !there {
			return out.unknown || out.state == "none", jobs
		}
		return out.unknown || out.state == "canceled", with(jobs, in.id, false)
	case "get":
		waits, there := jobs[in.id]
		want := map[bool]string{true: "queued", false: "canceled"}[waits]
		if !there {
			want = "none"
		}
		return out.unknown || out.state == want, jobs
	}
	if out.unknown {
		return true, jobs
	}
	for id, waits := range jobs { // order-free: all must agree
		if out.states[id] != waits {
			return false, jobs
		}
	}
	return true, jobs
}

func with(jobs map[string]bool, id string, waits bool) map[string]bool {
	next := maps.Clone(jobs)
	next[id] = waits
	return next
}

// recorder keeps what clients have done, as porcupine wants it.
type recorder struct {
	began time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
	ids []string
}

func (r *recorder) do(client int, in input, call func() output) {
	from := time.Since(r.began).Nanoseconds()
	out := call()
	to := time.Since(r.began).Nanoseconds()
	r.mu.Lock()
	defer r.mu.Unlock()
	if out.unknown {
		if in.do != "cancel" {
			return // it tells nothing, and changes nothing that has a name
		}
		to = int64(1) << 60 // it may still be carried out
	}
	r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: in, Call: from, Output: out, Return: to})
	if in.do == "submit" {
		r.ids = append(r.ids, out.id)
	}
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// some is a job that was submitted, or one that never was.
func (r *recorder) some(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ids) == 0 || n%17 == 0 {
		return "999999"
	}
	return r.ids[n%len(r.ids)]
}

// Answers to submit, cancel, get and list, of several clients through several peers
// while leaders die, are as if each had been carried out at one moment between its
// call and its answer.
func TestTheAPIIsLinearizable(t *testing.T) {
	c := start(t, "--nodes", "0")
	r := &recorder{began: time.Now()}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for i := range 4 {
		api, err := client.New(client.Options{Addresses: rotate(c.addresses(), i)})
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() { r.use(ctx, api, i) })
	}
	r.outlive(c, 80)
	stop()
	work.Wait()
	t.Logf("%d operations on %d jobs", len(r.ops), len(r.ids))
	r.judge(t, queueModel())
}

// outlive kills the leader three times, each once so much more has been answered.
func (r *recorder) outlive(c *cluster, more int) {
	for range 3 {
		enough := r.count() + more
		c.until("more has been answered", func() bool { return r.count() >= enough })
		c.kill(c.leader())
		c.ready()
	}
}

// judge fails the test if what was recorded is not linearizable.
func (r *recorder) judge(t *testing.T, model porcupine.Model) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(model, r.ops, patience)
	switch result {
	case porcupine.Ok:
	case porcupine.Unknown:
		t.Error("the check did not come to an end")
	case porcupine.Illegal:
		path := t.ArtifactDir() + "/history.html"
		t.Errorf("the answers are not linearizable; a picture is in %s (%v)", path, porcupine.VisualizePath(model, info, path))
	}
}

func rotate(list []string, n int) []string {
	n %= len(list)
	return slices.Concat(list[n:], list[:n])
}

// use does one thing after the other.
func (r *recorder) use(ctx context.Context, api *client.Client, who int) {
	random := rand.New(rand.NewPCG(uint64(who), 7))
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.one(ctx, api, who, random)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// one does one thing.
func (r *recorder) one(ctx context.Context, api *client.Client, who int, random *rand.Rand) {
	gpus, id := int64(1), r.some(random.IntN(1<<20))
	switch random.IntN(6) {
	case 0:
		r.do(who, input{do: "submit"}, func() output {
			answer, err := api.Submit(ctx, &wire.Submit{User: "alice", Command: "true", GPUs: &gpus}, "")
			if err != nil {
				return output{unknown: true}
			}
			return output{id: answer.JobID}
		})
	case 1:
		r.do(who, input{"cancel", id}, func() output {
			_, err := api.Cancel(ctx, id, client.AllTasks, "")
			return result("canceled", err)
		})
	case 2:
		r.do(who, input{do: "list"}, func() output { return list(ctx, api) })
	default:
		r.do(who, input{"get", id}, func() output {
			d, _, err := api.Job(ctx, id, client.JobQuery{Consistency: "linearizable"})
			return result(stateOf(d, err), err)
		})
	}
}

func stateOf(d *wire.Detail, err error) string {
	if err != nil {
		return ""
	}
	return d.State
}

// result is an answer about one job. A job that has ended already is canceled:
// on this cluster there is no other end.
func result(state string, err error) output {
	if err == nil {
		return output{state: state}
	}
	p := new(wire.Problem)
	switch {
	case errors.As(err, &p) && p.Status == http.StatusNotFound:
		return output{state: "none"}
	case errors.As(err, &p) && p.Status == http.StatusConflict:
		return output{state: "canceled"}
	}
	return output{unknown: true}
}

func list(ctx context.Context, api *client.Client) output {
	q, err := api.Queue(ctx, client.QueueQuery{Consistency: "linearizable"})
	if err != nil {
		return output{unknown: true}
	}
	out := output{states: map[string]bool{}}
	for _, j := range q.Queued {
		out.states[j.ID] = true
	}
	return out
}

// The check itself: a read of the past, a lost job and a job with two names are
// found, and answers in a right order are not.
func TestTheCheckFindsWhatIsWrong(t *testing.T) {
	op := func(from, to int64, in input, out output) porcupine.Operation {
		return porcupine.Operation{ClientId: int(from), Input: in, Call: from, Output: out, Return: to}
	}
	submitted := op(1, 2, input{do: "submit"}, output{id: "7"})
	canceled := op(3, 4, input{"cancel", "7"}, output{state: "canceled"})
	for name, c := range map[string]struct {
		last porcupine.Operation
		ok   bool
	}{
		"a right answer":        {op(5, 6, input{"get", "7"}, output{state: "canceled"}), true},
		"a read of the past":    {op(5, 6, input{"get", "7"}, output{state: "queued"}), false},
		"a read at the time":    {op(3, 6, input{"get", "7"}, output{state: "queued"}), true},
		"a lost job":            {op(5, 6, input{"get", "7"}, output{state: "none"}), false},
		"a list of the past":    {op(5, 6, input{do: "list"}, output{states: map[string]bool{"7": true}}), false},
		"a name given to two":   {op(5, 6, input{do: "submit"}, output{id: "7"}), false},
		"an answer that is not": {op(5, 6, input{"get", "7"}, output{unknown: true}), true},
	} {
		history := []porcupine.Operation{submitted, canceled, c.last}
		if got := porcupine.CheckOperations(queueModel(), history); got != c.ok {
			t.Errorf("%s: linearizable is %t, want %t", name, got, c.ok)
		}
	}
}
