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

// defaultTTL is how long a service holds GPUs without a renewal.
const defaultTTL = time.Hour

// Allocation converts a service's request to a command.
func Allocation(r *wire.Allocate) (*command.Allocate, error) {
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
	if c.GPUMemoryMB, err = EitherMemory(r.GPUMemory, r.Memory); err != nil {
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

// EitherMemory returns the memory of each GPU, which has two names.
func EitherMemory(gpu, plain *float64) (uint32, error) {
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
