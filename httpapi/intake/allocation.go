package intake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const (
	defaultTTL = time.Hour      // for which a service holds GPUs without a renewal
	foreignTTL = 24 * time.Hour // of GPUs that are held for a job of another scheduler
	forJobs    = "job"          // the service under which GPUs are held for jobs
)

// PrepareAllocation converts a service's request for GPUs to a command, in the same way as [Prepare]. size fills in what depends on the
// workload of the service.
func PrepareAllocation(b *Basis, r *wire.Allocate, size func(*command.Allocate) error) (*command.Allocate, error) {
	c, err := allocation(r)
	if err != nil {
		return nil, err
	}
	return c, b.allocate(c, r.User, size)
}

// PrepareAllocationFor is PrepareAllocation for a job: one of this cluster, with which the allocation ends, or one of another scheduler.
func PrepareAllocationFor(b *Basis, r *wire.AllocateForJob) (*command.Allocate, error) {
	if r.JobID == "" {
		return nil, problem.Invalid("job_id", "must be given")
	}
	c := &command.Allocate{
		Service: forJobs, Workload: model.WorkloadGeneric, For: r.JobID, TTL: foreignTTL,
		Priority: model.DefaultPriority, Class: model.ServiceClass(model.DefaultPriority),
	}
	user := ""
	if id, err := JobID(r.JobID); err == nil {
		if job, found := b.Job(id); found {
			c.Job, c.TTL, c.Project, user = id, 0, job.Spec.Project, job.Spec.User
		}
	}
	return c, b.allocate(c, user, func(c *command.Allocate) (err error) {
		if c.GPUs, err = Count("gpu_count", r.GPUs, 1, model.MaxDevices, 1); err == nil {
			c.GPUMemoryMB, err = eitherMemory(r.GPUMemory, r.Memory)
		}
		return err
	})
}

// allocate completes and checks a request for GPUs.
func (b *Basis) allocate(c *command.Allocate, user string, size func(*command.Allocate) error) (err error) {
	c.Capped = !b.Caller.Operates()
	if c.User, err = b.entitled(user, c.Project, c.Class); err != nil {
		return err
	}
	if err := b.reaches(c.Webhook); err != nil {
		return err
	}
	if err := size(c); err != nil {
		return err
	}
	return b.FitsAllocation(c)
}

// FitsAllocation returns an error if an allocation could never get its GPUs.
func (b *Basis) FitsAllocation(c *command.Allocate) error {
	return b.fits(&model.Spec{
		User: c.User, Project: c.Project, GPUs: c.GPUs, Nodes: 1, GPUModel: c.GPUModel, GPUMemoryMB: c.GPUMemoryMB,
		Constraint: c.Constraint, Nodelist: c.Nodelist, Exclude: c.Exclude,
	})
}

// allocation reads a service's request.
func allocation(r *wire.Allocate) (*command.Allocate, error) {
	c := &command.Allocate{
		Service: r.Service, Workload: cmp.Or(strings.ReplaceAll(r.Workload, "-", "_"), model.WorkloadGeneric), Project: r.Project,
		GPUModel: model.SortModels(r.GPUType), Webhook: r.WebhookURL,
	}
	switch {
	case r.Service == "":
		return nil, problem.Invalid("service_name", "must be given")
	case !slices.Contains(model.Workloads(), c.Workload):
		return nil, problem.Invalid("workload_type", "must be one of "+strings.Join(model.Workloads(), ", "))
	}
	priority, err := Count("priority", r.Priority, 1, model.MaxPriority, model.DefaultPriority)
	if err != nil {
		return nil, err
	}
	c.Priority = uint8(priority)
	c.Class = model.ServiceClass(c.Priority)
	if c.GPUs, err = Count("gpu_count", r.GPUs, 1, model.MaxDevices, 1); err != nil {
		return nil, err
	}
	if c.GPUMemoryMB, err = eitherMemory(r.GPUMemory, r.Memory); err != nil {
		return nil, err
	}
	ttl, err := Duration("ttl", "ttl_seconds", r.TTL, r.TTLS)
	if err != nil {
		return nil, err
	}
	c.TTL = Or(ttl, defaultTTL)
	if c.Data, err = compact(r.Data); err != nil {
		return nil, err
	}
	terms, err := model.ParseConstraint(r.Constraint)
	if err != nil {
		return nil, problem.Invalid("constraint", err.Error())
	}
	c.Constraint = terms.String()
	if c.Nodelist, err = nodes("nodelist", r.Nodelist); err != nil {
		return nil, err
	}
	c.Exclude, err = nodes("exclude", r.Exclude)
	return c, err
}

// eitherMemory returns the memory of each GPU, which has two names.
func eitherMemory(gpu, plain *float64) (uint32, error) {
	both, err := same("gpu_memory_gb", "memory_gb", gpu, plain)
	if err != nil {
		return 0, err
	}
	return megabytes("gpu_memory_gb", both)
}

// compact removes the white space of a service's JSON.
func compact(data json.RawMessage) (string, error) {
	if len(data) == 0 || string(data) == "null" {
		return "", nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return "", problem.Invalid("workload_data", "must be JSON")
	}
	if b.Len() > model.MaxData {
		return "", problem.Invalid("workload_data", "must be at most 8192 bytes")
	}
	return b.String(), nil
}
