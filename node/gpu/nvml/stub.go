//go:build !linux || !cgo

package nvml

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Probe finds no GPUs: this program was built without cgo.
type Probe struct{}

// New returns a probe that finds nothing.
func New(Options) *Probe { return &Probe{} }

// List returns why there are none.
func (*Probe) List() ([]model.Device, error) {
	return nil, fmt.Errorf("%w: this program was built without NVML; build it on Linux with CGO_ENABLED=1", ErrMissing)
}

// Look reads nothing.
func (*Probe) Look(model.GPUID, time.Time) gpu.Look {
	return gpu.Look{Reading: judge.Reading{Trouble: judge.TroubleError, Detail: "this program was built without NVML"}}
}

// Watch waits for the end.
func (*Probe) Watch(ctx context.Context) { <-ctx.Done() }

// About returns why there is no driver.
func (p *Probe) About() (*About, error) {
	_, err := p.List()
	return nil, err
}
