package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

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
		out = append(out, decisive(ops))
	}
	return out
}

// decisive leaves out what says nothing more of a job: its state only goes on, so that of all callers that were
// told the same the last that asked and the first that was answered decide. With all of them a check may not come
// to an end: callers that ask while a job is being canceled may have been answered in more orders than can be tried.
func decisive(ops []porcupine.Operation) (out []porcupine.Operation) {
	from, to := int64(1)<<62, int64(-1) // of its submission
	for _, op := range ops {
		if op.Input.(input).do == "submit" { //nolint:errcheck // the recorder's own
			from, to = min(from, op.Call), max(to, op.Return)
		}
	}
	last, first := map[string]int{}, map[string]int{}
	for i, op := range ops {
		told := toldOf(&op)
		if told == "gone or to come" {
			switch {
			case op.Return < from: // to come
				continue
			case op.Call > to: // gone
				told = "gone"
			default:
				told = ""
			}
		}
		if told == "" {
			out = append(out, op)
			continue
		}
		if was, known := last[told]; !known || ops[was].Call < op.Call {
			last[told] = i
		}
		if was, known := first[told]; !known || ops[was].Return > op.Return {
			first[told] = i
		}
	}
	for told, i := range last { // order-free: a history has no order
		if out = append(out, ops[i]); first[told] != i {
			out = append(out, ops[first[told]])
		}
	}
	return out
}

// toldOf is what an operation that changes nothing has told of a job; empty for others.
func toldOf(op *porcupine.Operation) string {
	in, out := op.Input.(input), op.Output.(output) //nolint:errcheck // the recorder's own
	switch {
	case in.do == "get" && !out.unknown:
		return out.state
	case in.do == "list" && out.states[in.id]:
		return "queued"
	case in.do == "list" && !out.unknown:
		return "gone or to come"
	}
	return ""
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
	here := "127.0.0.0/8" // where the receiver of webhooks is
	for i := range crowd {
		api, err := client.New(client.Options{Addresses: rotate(c.addresses(), i)})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := api.Operator().Webhooks().Set(ctx, &wire.SetWebhookSettings{Allow: &here}); err != nil {
				t.Fatal(err)
			}
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
	random := rand.New(rand.NewPCG(uint64(v.who), 11))
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
		"an unknown job":     {op(5, 6, input{"get", "9"}, output{state: "queued"}), false},
		"a name for two":     {op(5, 6, input{do: "submit"}, output{id: "8"}), false},
		"no answer":          {op(5, 1<<60, input{"cancel", "8"}, output{unknown: true}), true},
	} {
		if got := porcupine.CheckOperations(jobModel(), append(begun[:3:3], v.last)); got != v.ok {
			t.Errorf("%s: linearizable is %t, want %t", name, got, v.ok)
		}
	}
}

// A crowd that asks while one job is being canceled makes no check endless: which caller gets which state is
// free, but for the first and the last, and there would be more orders of them than can be tried.
func TestTheCrowdsCheckComesToAnEnd(t *testing.T) {
	ops := []porcupine.Operation{
		{ClientId: 1, Input: input{do: "submit"}, Output: output{id: "7"}, Call: 1, Return: 2},
		{ClientId: 2, Input: input{"cancel", "7"}, Output: output{unknown: true}, Call: 10, Return: 1 << 60},
	}
	for i := range int64(100) {
		list := output{states: map[string]bool{"7": i%2 > 0}}
		ops = append(ops, porcupine.Operation{ClientId: int(3 + i), Input: input{do: "list"}, Output: list, Call: 20 + i, Return: 500 + i})
	}
	if result := porcupine.CheckOperationsTimeout(jobModel(), ops, patience); result != porcupine.Ok {
		t.Errorf("the check says %s", result)
	}
}

// What is left out of a history changes nothing of whether it is linearizable.
func TestWhatIsLeftOutSaysNothing(t *testing.T) {
	whole := jobModel()
	whole.Partition = nil
	rapid.Check(t, func(t *rapid.T) {
		ops := history(t)
		if want := porcupine.CheckOperations(whole, ops); porcupine.CheckOperations(whole, decisive(ops)) != want {
			t.Fatalf("linearizable is %t, but not of what is left of %+v", want, ops)
		}
	})
	seen := map[bool]int{} // of the same histories in each run: a few random ones may all be of one kind
	for seed := range 20 {
		seen[porcupine.CheckOperations(whole, rapid.Custom(history).Example(seed))]++
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("%v histories are linearizable: the test has shown nothing", seen)
	}
}

// history draws what a few have asked for and were told of one job, most of it as it was at some
// instant while they asked.
func history(t *rapid.T) (ops []porcupine.Operation) {
	submitted, canceled := rapid.Int64Range(1, 60).Draw(t, "submitted"), rapid.Int64Range(1, 60).Draw(t, "canceled")
	add := func(do string, at int64) {
		state := "none"
		if at >= submitted {
			state = "queued"
			if at >= canceled && canceled > submitted {
				state = "canceled"
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "told at random") == 0 {
			state = rapid.SampledFrom([]string{"none", "queued", "canceled"}).Draw(t, "told")
		}
		op := porcupine.Operation{ClientId: len(ops), Input: input{do, "7"}, Output: output{state: state}}
		longest := int64(15)
		if do == "submit" {
			longest = 40 // others see it meanwhile
		}
		op.Call, op.Return = at-rapid.Int64Range(0, longest).Draw(t, "before"), at+rapid.Int64Range(1, longest).Draw(t, "after")
		switch do {
		case "submit":
			op.Input, op.Output = input{do: do}, output{id: "7"}
		case "list":
			op.Output = output{states: map[string]bool{"7": state == "queued"}}
		}
		ops = append(ops, op)
	}
	add("submit", submitted)
	add("cancel", canceled)
	for range rapid.IntRange(1, 8).Draw(t, "questions") {
		add(rapid.SampledFrom([]string{"get", "list"}).Draw(t, "question"), rapid.Int64Range(1, 60).Draw(t, "asked"))
	}
	return ops
}
