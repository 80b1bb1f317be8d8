package fleet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// foreignOn returns the slots of a node that attempts hold which the state does not know: of one job, or of all (0).
func foreignOn(s *state.State, node model.NodeID, job model.JobID) (out []model.Slot) {
	for k := range s.NodeGPUs.From(model.AddressKey{Node: node}) {
		if k.Node != node {
			break
		}
		if slot, _ := s.Slots.Get(model.SlotKey{GPU: k.GPU}); slot.Owner == model.OwnerForeign && (job == 0 || slot.Rank.Job == job) {
			out = append(out, slot)
		}
	}
	return out
}

// foreign returns the unknown attempts that a request means.
func (a operations) foreign(in *nodeInput, body *wire.Foreign) (state.State, []model.Slot, error) {
	s := a.api.State()
	var job model.JobID
	if body.Job != "" {
		var err error
		if job, err = intake.JobID(body.Job); err != nil {
			return s, nil, err
		}
	}
	if !s.Nodes.Has(model.NodeID(in.Node)) {
		return s, nil, problem.Refuse(wire.CodeNotFound, "there is no node "+in.Node+": berth nodes lists all")
	}
	slots := foreignOn(&s, model.NodeID(in.Node), job)
	if len(slots) == 0 {
		return s, nil, problem.Refuse(wire.CodeNotFound, "no unknown attempt runs on node "+in.Node+": berth nodes --gpus shows those as foreign")
	}
	return s, slots, nil
}

// tasksOf lists the tasks whose attempts hold slots, each once.
func tasksOf(slots []model.Slot) []string {
	out := []string{}
	for _, slot := range slots {
		if name := slot.Rank.Attempt().TaskKey().String(); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func (a operations) killForeign(ctx context.Context, in *nodeInput, body *wire.Foreign) (*core.Answer[wire.NodeDone], error) {
	_, slots, err := a.foreign(in, body)
	if err != nil {
		return nil, err
	}
	bodies := make([]command.Body, 0, len(slots))
	for _, slot := range slots {
		bodies = append(bodies, &command.KillForeign{Slot: slot.Key})
	}
	index, err := a.all(ctx, bodies)
	if err != nil {
		return nil, err
	}
	out := &wire.NodeDone{Success: true, NodeID: in.Node, Message: "the unknown attempts are killed", Jobs: tasksOf(slots)}
	return &core.Answer[wire.NodeDone]{Index: index, Body: out}, nil
}

func (a operations) adoptForeign(ctx context.Context, in *nodeInput, body *wire.Foreign) (*core.Answer[wire.NodeDone], error) {
	s, slots, err := a.foreign(in, body)
	if err != nil {
		return nil, err
	}
	var jobs []model.JobID
	for _, slot := range slots {
		if !slices.Contains(jobs, slot.Rank.Job) {
			jobs = append(jobs, slot.Rank.Job)
		}
	}
	bodies := make([]command.Body, 0, len(jobs))
	for _, job := range jobs {
		adopt, err := a.adoption(ctx, &s, job)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, adopt)
	}
	index, err := a.all(ctx, bodies)
	if err != nil {
		return nil, err
	}
	out := &wire.NodeDone{Success: true, NodeID: in.Node, Message: "the unknown attempts are those of their jobs now", Jobs: tasksOf(slots)}
	return &core.Answer[wire.NodeDone]{Index: index, Body: out}, nil
}

// all proposes commands, none of which does anything a second time.
func (a operations) all(ctx context.Context, bodies []command.Body) (index uint64, err error) {
	results, index, err := a.api.ProposeAll(ctx, make([]string, len(bodies)), bodies)
	for i := range results {
		if r := &results[i]; !r.OK() && err == nil {
			err = problem.Refused(r)
		}
	}
	return index, err
}

// adoption returns the command that adopts all unknown attempts of a job, on whichever nodes they are.
func (a operations) adoption(ctx context.Context, s *state.State, job model.JobID) (*command.Adopt, error) {
	ranks := map[model.RankKey]command.Placement{}
	for key, slot := range s.Slots.All() {
		if slot.Owner == model.OwnerForeign && slot.Rank.Job == job {
			node, _ := s.Nodes.Get(slot.Node)
			p := ranks[slot.Rank]
			p.Node, p.Epoch, p.Slots = slot.Node, node.Epoch, append(p.Slots, key)
			ranks[slot.Rank] = p
		}
	}
	keys := slices.SortedFunc(maps.Keys(ranks), model.RankKey.Compare)
	out := &command.Adopt{Job: command.ImportedJob{ID: job}}
	var tasks model.Indices
	for _, key := range keys {
		p := ranks[key]
		record, err := a.record(ctx, s, p.Node, key)
		if err != nil {
			return nil, err
		}
		if len(tasks) == 0 || last(out).Attempt != key.Attempt() {
			if len(tasks) > 0 && last(out).Attempt.TaskKey() == key.Attempt().TaskKey() {
				return nil, problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("attempts %s and %s of one task run: end one of them by berth node kill, and adopt the other one when that is gone", last(out).Attempt, key.Attempt()))
			}
			out.Attempts, out.Placed = append(out.Attempts, command.Place{Attempt: key.Attempt(), Secret: record.Secret}),
				append(out.Placed, record.Placed)
			tasks = append(tasks, key.Task)
		}
		if key.Rank == 0 && len(out.Attempts) == 1 {
			describe(out, record)
		}
		attempt := last(out)
		if key.Rank != uint32(len(attempt.Ranks)) || record.Ranks > 0 && !hasAll(ranks, key, record.Ranks) {
			return nil, problem.Refuse(model.CodeConflict.String(), fmt.Sprintf("attempt %s has ranks that no node has reported as running: wait for its nodes, or kill what is left", key.Attempt()))
		}
		slices.SortFunc(p.Slots, byPlace(record.GPUs))
		attempt.Ranks = append(attempt.Ranks, p)
	}
	out.Job.Tasks = uint32(len(out.Attempts))
	if out.Job.Spec.Array != "" {
		out.Job.Spec.Array = tasks.String()
	}
	return out, nil
}

// last returns the attempt that was added last.
func last(b *command.Adopt) *command.Place { return &b.Attempts[len(b.Attempts)-1] }

// describe fills in the job as one of its nodes has it.
func describe(out *command.Adopt, r *agentwire.Record) {
	text := func(content string) uint32 {
		if content == "" {
			return 0
		}
		out.Texts = append(out.Texts, content)
		return uint32(len(out.Texts))
	}
	out.Job.Spec = r.Spec
	out.Job.Script, out.Job.Env, out.Job.Stdin, out.Job.SubmitEnv = text(r.Script), text(r.Env), text(r.Stdin), text(r.SubmitEnv)
}

// hasAll reports whether all ranks of an attempt are among those that were found.
func hasAll(found map[model.RankKey]command.Placement, of model.RankKey, ranks uint32) bool {
	for n := range ranks {
		if _, there := found[of.Attempt().Rank(n)]; !there {
			return false
		}
	}
	return true
}

// byPlace orders slots as the GPUs of a rank are ordered.
func byPlace(order []model.GPUID) func(a, b model.SlotKey) int {
	return func(a, b model.SlotKey) int {
		return cmp.Compare(slices.Index(order, a.GPU), slices.Index(order, b.GPU))
	}
}

// maxRecord bounds what a node answers about a rank, in bytes.
const maxRecord = 8 << 20

// record asks a node what a rank runs.
func (a operations) record(ctx context.Context, s *state.State, id model.NodeID, k model.RankKey) (*agentwire.Record, error) {
	node, _ := s.Nodes.Get(id)
	number := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
	q := url.Values{"job": {k.Job.String()}, "task": {number(k.Task)}, "attempt": {number(k.N)}, "rank": {number(k.Rank)}}
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	r, err := core.NewRequest(ctx, http.MethodGet, node.Address, "/node/record?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	failed := func(err error) error {
		a.api.Log.Warn("record_not_read", "node", id, "rank", k, "err", err)
		return problem.Refuse(wire.CodeUnreachable, fmt.Sprintf("node %s does not say what attempt %s runs: see its agent's log, or kill the attempt", id, k.Attempt()))
	}
	answer, err := a.api.Out.RoundTrip(r)
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxRecord))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, failed(fmt.Errorf("status %d: %w", answer.StatusCode, err))
	}
	out := &agentwire.Record{}
	if err := agentwire.Decode(data, out); err != nil || out.Rank != k {
		return nil, failed(fmt.Errorf("an answer about rank %s: %w", out.Rank, err))
	}
	return out, nil
}

// recordLimit bounds the time of that question.
const recordLimit = 5 * time.Second
