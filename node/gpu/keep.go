package gpu

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// kept is what outlives the agent. Faults do, so that a restart of the agent does not make a bad GPU good.
// The devices do, so that an agent that starts while the driver does not answer knows the inventory: leaving
// a GPU out would end the jobs that run on it.
type kept struct {
	Boot string    `json:"boot"` // of the kernel that they were seen under
	GPUs []keptGPU `json:"gpus"`
}

type keptGPU struct {
	Device model.Device `json:"device"`
	Fault  judge.Fault  `json:"fault,omitzero"`
}

// find returns a GPU's fault.
func (k *kept) find(id model.GPUID) judge.Fault {
	for _, g := range k.GPUs {
		if g.Device.ID == id {
			return g.Fault
		}
	}
	return judge.Fault{}
}

// load reads a file of kept; a missing file is empty. The file has a second copy, since a GPU whose fault is
// forgotten would be given out again. restored names what was lost of the two.
func load(path string) (k kept, restored string, err error) {
	restored, err = smallfile.ReadTwin(path, &k)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, "", nil
	}
	if err != nil {
		return kept{}, "", fmt.Errorf("what is known of GPUs from before: %w", err)
	}
	return k, restored, nil
}
