package services

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/sched/explain"
	"github.com/berth-gpu/berth/cluster/sched/queue"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// grantWait is how long an answer waits for GPUs that are free.
const grantWait = time.Second

// services allocates GPUs to services, and releases them.
type services struct{ api *core.API }

// renewInput is the input of POST /gpu/allocations/{allocation_id}/renew.
type renewInput struct {
	Key string `header:"Idempotency-Key"`
	ID  string `path:"allocation_id"`

	core.Raw
}

func (a services) route(doc huma.API) {
	o := core.Example(core.Op("allocate", http.MethodPost, "/gpu/allocate", "Ask for GPUs for a service, without a job"), `{"service_name":"web","user":"ann"}`)
	o.Description = "If none are free the allocation waits in the same queue as jobs, in the policy's order. It ends when it is released, " +
		"or when its time is over without a renewal."
	core.HandleBody(a.api, doc, o, a.request)
	core.HandleBody(a.api, doc, core.Example(core.Op("release-gpus", http.MethodPost, "/gpu/release", "Release an allocation, or remove it from the queue"), `{"allocation_id":"web-1"}`),
		func(ctx context.Context, in *core.BodyInput, b *wire.Release) (*core.Answer[wire.Allocated], error) {
			if b.AllocationID == "" {
				return nil, problem.Invalid("allocation_id", "must be given")
			}
			return a.release(ctx, in.Key, model.AllocationID(b.AllocationID))
		})
	core.HandleBody(a.api, doc, core.Example(core.Op("allocate-for-job", http.MethodPost, "/cluster/gpu-allocate", "Ask for GPUs for a job that runs outside Berth"), `{"job_id":"550e8400"}`), a.allocateFor)
	core.HandleBody(a.api, doc, core.Example(core.Op("release-for-job", http.MethodPost, "/cluster/gpu-release", "Release the GPUs that were allocated for a job"), `{"job_id":"550e8400"}`), a.releaseFor)
	o = core.Op("renew-allocation", http.MethodPost, "/gpu/allocations/{allocation_id}/renew", "Renew an allocation: its time starts again from now on")
	core.HandleMaybeBody(a.api, doc, o, a.renew)
}

// request checks a request for GPUs without a job, and makes the allocation.
func (a services) request(ctx context.Context, in *core.BodyInput, b *wire.Allocate) (*core.Answer[wire.Allocated], error) {
	s := a.api.State()
	basis := a.api.Basis(ctx, &s)
	c, err := intake.PrepareAllocation(basis, b, func(c *command.Allocate) error {
		past, _ := s.Request(core.ClipActor(core.Submitter(ctx, c.User)), in.Key)
		return a.size(&s, basis, b, c, past)
	})
	return a.allocate(ctx, in.Key, c, err)
}

// allocate makes an allocation that was prepared without an error, and answers with its GPUs if it gets them soon.
func (a services) allocate(ctx context.Context, key string, c *command.Allocate, err error) (*core.Answer[wire.Allocated], error) {
	if err != nil {
		return nil, err
	}
	r, index, err := a.api.ProposeAs(ctx, core.Submitter(ctx, c.User), key, c)
	if err != nil {
		return nil, err
	}
	id := model.AllocationOf(c.Service, r.Number)
	s := a.granted(ctx, id)
	out, err := a.told(&s, id)
	return &core.Answer[wire.Allocated]{Index: max(index, s.Index), Body: out}, err
}

// granted returns the state once an allocation has its GPUs, if nothing blocks it and it gets them
// soon.
func (a services) granted(ctx context.Context, id model.AllocationID) state.State {
	ctx, cancel := context.WithTimeout(ctx, grantWait)
	defer cancel()
	for {
		s := a.api.State()
		one, _ := s.Allocations.Get(id)
		if one.State != model.AllocationQueued {
			return s
		}
		if e, waits := explain.Allocation(&s, a.api.Now(&s), id); waits && len(e.Blockers) > 0 {
			return s
		}
		select {
		case <-a.api.Changed(core.Topics(model.TopicFleet), s.Settings().Topics[model.TopicFleet]):
		case <-ctx.Done():
			return a.api.State()
		}
	}
}

// told returns the answer about an allocation.
func (a services) told(s *state.State, id model.AllocationID) (*wire.Allocated, error) {
	one, found := s.Allocations.Get(id)
	if !found {
		return nil, noAllocation()
	}
	v := view.View{State: s, Now: a.api.Now(s)}
	w := v.Allocation(&one)
	if one.State == model.AllocationQueued {
		w.Position, _ = queue.Position(s, v.Now, one.Turn)
	}
	out := &wire.Allocated{
		Success: true, Status: w.Status, RequestID: w.ID, AllocationID: w.ID, JobID: w.JobID, Allocation: w, SubmittedAt: w.SubmittedAt,
		AllocatedAt: w.AllocatedAt, WaitSeconds: w.WaitSeconds, Position: w.Position, Message: w.Status,
	}
	if one.State == model.AllocationQueued {
		out.Message = "the allocation waits: GET /gpu/allocations/" + w.ID + " has the reasons"
	}
	return out, nil
}

func (a services) release(ctx context.Context, key string, id model.AllocationID) (*core.Answer[wire.Allocated], error) {
	if err := a.mayGiveUp(ctx, id); err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, key, &command.ReleaseAllocation{ID: id})
	return a.changed(index, id, err)
}

func (a services) renew(ctx context.Context, in *renewInput, b *wire.RenewAllocation) (*core.Answer[wire.Allocated], error) {
	ttl, err := intake.Duration("ttl", "ttl_seconds", b.TTL, b.TTLS)
	if err != nil {
		return nil, err
	}
	if ttl != nil && *ttl == 0 {
		return nil, problem.Invalid("ttl", "must be longer than 0, or be left out for the same time again")
	}
	id := model.AllocationID(in.ID)
	if err := a.mayGiveUp(ctx, id); err != nil {
		return nil, err
	}
	_, index, err := a.api.Propose(ctx, in.Key, &command.RenewAllocation{ID: id, TTL: intake.Or(ttl, 0)})
	return a.changed(index, id, err)
}

func (a services) changed(index uint64, id model.AllocationID, err error) (*core.Answer[wire.Allocated], error) {
	if err != nil {
		return nil, err
	}
	s := a.api.State()
	out, err := a.told(&s, id)
	return &core.Answer[wire.Allocated]{Index: index, Body: out}, err
}

// allocateFor allocates GPUs for a job.
func (a services) allocateFor(ctx context.Context, in *core.BodyInput, b *wire.AllocateForJob) (*core.Answer[wire.Allocated], error) {
	s := a.api.State()
	c, err := intake.PrepareAllocationFor(a.api.Basis(ctx, &s), b)
	return a.allocate(ctx, in.Key, c, err)
}

func (a services) releaseFor(ctx context.Context, in *core.BodyInput, b *wire.ReleaseForJob) (*core.Answer[wire.Allocated], error) {
	s := a.api.State()
	one, found := state.AllocatedFor(&s, b.JobID)
	switch {
	case b.JobID == "":
		return nil, problem.Invalid("job_id", "must be given")
	case !found:
		return nil, problem.Refuse(wire.CodeNotFound, "there is no allocation of /cluster/gpu-allocate for this job; DELETE /queue/{job_id} ends a job itself")
	}
	return a.release(ctx, in.Key, one.ID)
}

// mayGiveUp returns an error if the caller may not renew or release an allocation: their own, or as
// an operator any. An allocation that this peer does not know may have been acknowledged by another
// peer: it is looked up again in the newest state that can be read.
func (a services) mayGiveUp(ctx context.Context, id model.AllocationID) error {
	c := auth.From(ctx)
	if c.Operates() {
		return nil
	}
	s := a.api.State()
	one, found := s.Allocations.Get(id)
	if !found {
		var err error
		if s, err = a.api.Fresh(ctx, peer.Linearizable); err != nil {
			return err
		}
		one, found = s.Allocations.Get(id)
	}
	switch {
	case !found:
		return noAllocation()
	case c.Owns(one.User, one.Asked):
		return nil
	}
	return problem.Denied("allocation " + string(id) + " is another user's: this needs the role " + model.RoleOperator.String() + "; you have " + c.Role.String())
}
