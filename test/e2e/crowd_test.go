package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/berth-gpu/berth/httpapi/client"
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
// die: what they are told of jobs is linearizable, nothing is a defect's answer, and nothing
// that was acknowledged is lost.
func TestACrowdWhileLeadersDie(t *testing.T) {
	c := start(t, "--nodes", "0")
	r, k := &recorder{began: time.Now()}, newKept(t)
	var bases []string
	for _, at := range c.addresses() {
		bases = append(bases, "http://"+at)
	}
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
			defects <- r.roam(ctx, &visit{kept: k, api: api, bases: bases, who: i})
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
	k.count(t, c)
}

// roam does one thing after the other until the context ends, and returns the first
// answer that only a defect gives.
func (r *recorder) roam(ctx context.Context, v *visit) (defect error) {
	random := rand.New(rand.NewPCG(uint64(v.who), 11)) //nolint:gosec // a test's choices
	for ctx.Err() == nil && defect == nil {
		if random.IntN(2) == 0 {
			r.one(ctx, v.api, v.who, random)
		} else {
			v.random, v.id = random, r.some(random.IntN(1<<20))
			defect = v.pay(ctx)
		}
		select {
		case <-time.After(time.Duration(random.IntN(800)) * time.Millisecond): // as people do; it also lets the machine breathe
		case <-ctx.Done():
		}
	}
	return defect
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
