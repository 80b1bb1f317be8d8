package gpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// kept is what outlives the agent. Faults do, so that a bad GPU does not become a
// good one by a restart of the agent. The devices do, so that an agent that starts
// while the driver does not answer knows what there is: to leave a GPU out would end
// the jobs that run on it.
type kept struct {
	Boot string    `json:"boot"` // of the kernel that they were seen under
	GPUs []keptGPU `json:"gpus"`
}

type keptGPU struct {
	Device model.Device `json:"device"`
	Fault  judge.Fault  `json:"fault,omitzero"`
}

// find looks a GPU's fault up.
func (k *kept) find(id model.GPUID) judge.Fault {
	for _, g := range k.GPUs {
		if g.Device.ID == id {
			return g.Fault
		}
	}
	return judge.Fault{}
}

// load reads what was kept; nothing, if nothing was.
func load(path string) (kept, error) {
	var k kept
	data, err := os.ReadFile(path) //nolint:gosec // in the operator's data folder
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &k)
	}
	if err != nil {
		return kept{}, fmt.Errorf("what is known of GPUs from before: %s: %w", path, err)
	}
	return k, nil
}

// Store writes a value as JSON in place of a file: nobody ever reads half of it.
func Store(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // likewise
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
