package simgpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// Fault is a fault of a simulated GPU.
type Fault struct {
	Xids        []uint64       `json:"xids,omitempty"`
	Temperature int16          `json:"temperature,omitempty"` // °C, in place of what follows from the load
	Recovery    judge.Recovery `json:"recovery,omitempty"`    // 2 reset, 3 restart of the host, 5 drain; see judge
	Pending     bool           `json:"remap_pending,omitempty"`
	Failed      bool           `json:"remap_failed,omitempty"`
	Uncorrected uint64         `json:"uncorrected,omitempty"` // memory errors
	Leftover    bool           `json:"leftover,omitempty"`    // memory in use that no process accounts for
	Reset       bool           `json:"reset_required,omitempty"`
	Lost        bool           `json:"lost,omitempty"`
	Hang        bool           `json:"hang,omitempty"` // looks at it do not come back
}

// FaultsFile is the name of the file that breaks GPUs: an object of Fault by index or
// UUID.
const FaultsFile = "faults.json"

// faultOf reads the fault of a GPU.
func (p *Probe) faultOf(d model.Device) (Fault, error) {
	data, err := os.ReadFile(p.faults)
	if errors.Is(err, fs.ErrNotExist) {
		return Fault{}, nil
	}
	var all map[string]Fault
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&all)
	}
	if err != nil {
		return Fault{}, fmt.Errorf("%s: %w", p.faults, err)
	}
	if f, ok := all[string(d.ID)]; ok {
		return f, nil
	}
	return all[strconv.FormatUint(uint64(d.Index), 10)], nil
}

// afflict applies a fault to a reading.
func (f *Fault) afflict(in *judge.Reading) {
	switch {
	case f.Lost:
		in.Trouble, in.Detail = judge.TroubleLost, "simulated"
	case f.Reset:
		in.Trouble, in.Detail = judge.TroubleReset, "simulated"
	}
	if f.Temperature != 0 {
		in.Temperature = f.Temperature
	}
	if f.Recovery != judge.RecoveryUnknown {
		in.Recovery = f.Recovery
	}
	in.Remap = judge.Remap{Pending: f.Pending, Failed: f.Failed}
	in.Uncorrected, in.Leftover = f.Uncorrected, f.Leftover
}
