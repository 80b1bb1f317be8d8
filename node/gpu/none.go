package gpu

import (
	"context"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// None is the probe of a node without GPUs, which runs jobs without GPUs only. It loads no driver.
type None struct{}

// List finds no GPUs.
func (None) List() ([]model.Device, error) { return nil, nil }

// Look reports that there is no such GPU.
func (None) Look(model.GPUID, time.Time) Look {
	return Look{Reading: judge.Reading{Trouble: judge.TroubleError, Detail: "the node has no GPUs (agent.gpus: none)"}}
}

// Watch waits for the end of the context.
func (None) Watch(ctx context.Context) { <-ctx.Done() }
