package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// crowd is how many clients ask at once.
const crowd = 120

// jobModel is queueModel for each job by itself, so that a crowd's history can be checked:
// a list is what it says of each job. That a list shows all jobs as of one moment is left
// to queueModel.
func jobModel() porcupine.Model {
	return porcupine.Model{
		Partition: byJob,
		Init:      func() any { return "none" },
		Step: func(state, in, out any) (bool, any) {
			return stepOf(state.(string), in.(input), out.(output)) //nolint:errcheck // the model's own
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v -> %v", in, out) },
	}
}

func stepOf(job string, in input, out output) (bool, any) {
	switch in.do {
	case "submit":
		return job == "none", "queued"
	case "cancel":
		if job == "none" {
			return out.unknown || out.state == "none", job
		}
		return out.unknown || out.state == "canceled", "canceled"
	case "get":
		return out.unknown || out.state == job, job
	}
	return out.unknown || out.states[in.id] == (job == "queued"), job
}

// byJob divides a history into what was done and told of each job.
func byJob(history []porcupine.Operation) (out [][]porcupine.Operation) {
	of, lists := map[string][]porcupine.Operation{}, []porcupine.Operation(nil)
	for _, op := range history {
		in, did := op.Input.(input), op.Output.(output) //nolint:errcheck // the recorder's own
		switch in.do {
		case "list":
			lists = append(lists, op)
		case "submit":
			of[did.id] = append(of[did.id], op)
		default:
			of[in.id] = append(of[in.id], op)
		}
	}
	for id, ops := range of { // order-free: each is checked by itself
		for _, op := range lists {
			op.Input = input{do: "list", id: id}
			ops = append(ops, op)
		}
		out = append(out, ops)
	}
	return out
}

// More than a hundred clients ask for all sorts of things through all peers while leaders
// die: what they are told of jobs is linearizable, and nothing is a defect's answer.
func TestACrowdWhileLeadersDie(t *testing.T) {
	c := start(t, "--nodes", "0")
	r := &recorder{began: time.Now()}
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defects := make(chan error, crowd)
	for i := range crowd {
		api, err := client.New(client.Options{Addresses: rotate(c.addresses(), i)})
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			defer api.Close()
			defects <- r.roam(ctx, api, i)
		})
	}
	r.outlive(c, 5*crowd)
	stop()
	work.Wait()
	for range crowd {
		if err := <-defects; err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d clients, %d operations on %d jobs", crowd, len(r.ops), len(r.ids))
	r.judge(t, jobModel())
}

// roam does one thing after the other until the context ends, and returns the first
// answer that only a defect gives.
func (r *recorder) roam(ctx context.Context, api *client.Client, who int) (defect error) {
	random := rand.New(rand.NewPCG(uint64(who), 11)) //nolint:gosec // a test's choices
	for ctx.Err() == nil && defect == nil {
		if random.IntN(2) == 0 {
			r.one(ctx, api, who, random)
		} else {
			defect = other(ctx, api, r.some(random.IntN(1<<20)), random)
		}
		select {
		case <-time.After(time.Duration(random.IntN(800)) * time.Millisecond): // as people do; it also lets the machine breathe
		case <-ctx.Done():
		}
	}
	return defect
}

// other does something that the check does not follow, and that leaves alone whether a
// job waits or was canceled.
func other(ctx context.Context, api *client.Client, id string, random *rand.Rand) error {
	set := func(v int64) *int64 { return &v }
	calls := []func() error{
		func() error { _, err := api.Controls().Hold(ctx, id, client.AllTasks, ""); return err },
		func() error { _, err := api.Controls().Release(ctx, id, client.AllTasks, ""); return err },
		func() error { _, err := api.SetPriority(ctx, id, 1+random.Int64N(4)); return err },
		func() error { _, err := api.GPUStatus(ctx); return err },
		func() error { _, err := api.Peers(ctx); return err },
		func() error { _, err := api.Orchestrator(ctx); return err },
		func() error { _, err := api.Policies(ctx); return err },
		func() error { _, err := api.Statistics(ctx); return err },
		func() error { _, err := api.Operator().Audit(ctx, client.AuditQuery{Limit: 20}); return err },
		func() error { _, err := api.Operator().History(ctx, client.HistoryQuery{Limit: 20}); return err },
		func() error { _, err := api.Operator().Usage(ctx, client.UsageQuery{}); return err },
		func() error { _, err := api.Operator().Quotas().List(ctx, true); return err },
		func() error {
			_, err := api.Operator().Quotas().Set(ctx, "user", "alice", &wire.SetQuota{})
			return err
		},
		func() error { _, err := api.Operator().Settings(ctx); return err },
		func() error {
			_, err := api.TryOut(ctx, &wire.Submit{User: "bob", Command: "true", GPUs: set(1)})
			return err
		},
	}
	err := calls[random.IntN(len(calls))]()
	if p, is := errors.AsType[*wire.Problem](err); is && p.Status == http.StatusInternalServerError {
		return p
	}
	return nil
}

// The check itself: what is wrong about one job is found among others, and in lists.
func TestTheCrowdsCheckFindsWhatIsWrong(t *testing.T) {
	op := func(from, to int64, in input, out output) porcupine.Operation {
		return porcupine.Operation{ClientId: int(from), Input: in, Call: from, Output: out, Return: to}
	}
	begun := []porcupine.Operation{
		op(1, 2, input{do: "submit"}, output{id: "7"}), op(1, 4, input{do: "submit"}, output{id: "8"}), op(3, 4, input{"cancel", "7"}, output{state: "canceled"}),
	}
	for name, v := range map[string]struct {
		last porcupine.Operation
		ok   bool
	}{
		"a right list":       {op(5, 6, input{do: "list"}, output{states: map[string]bool{"8": true}}), true},
		"a list of the past": {op(5, 6, input{do: "list"}, output{states: map[string]bool{"7": true, "8": true}}), false},
		"a lost job":         {op(5, 6, input{do: "list"}, output{states: map[string]bool{}}), false},
		"a read of the past": {op(5, 6, input{"get", "7"}, output{state: "queued"}), false},
		"nobody's job":       {op(5, 6, input{"get", "9"}, output{state: "queued"}), false},
		"a name for two":     {op(5, 6, input{do: "submit"}, output{id: "8"}), false},
		"no answer":          {op(5, 1<<60, input{"cancel", "8"}, output{unknown: true}), true},
	} {
		if got := porcupine.CheckOperations(jobModel(), append(begun[:3:3], v.last)); got != v.ok {
			t.Errorf("%s: linearizable is %t, want %t", name, got, v.ok)
		}
	}
}
