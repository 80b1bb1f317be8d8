package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Driver is the driver of GPUs, and the GPUs.
type Driver struct {
	Simulated int  // how many GPUs are simulated; 0: they are real
	None      bool // the node has none, by its settings
	Err       error
	Version   string
	Cards     []Card
}

// Card is a GPU.
type Card struct {
	ID, Model   string
	Persistence Mode
	ECC         Mode
	Strangers   []string // processes that Berth has not started: "python (pid 17, ann)"
	Err         error    // it cannot be read
}

// Mode is the state of a mode of a GPU.
type Mode string

// The states of a mode. A GPU that does not have the mode, or does not show it, has none.
const (
	On  Mode = "on"
	Off Mode = "off"
)

// GPUs judges the driver and the GPUs of a node.
func GPUs(d *Driver) (out []Finding) {
	a := about{CheckDriver, "NVML"}
	switch {
	case d.Simulated > 0:
		return []Finding{a.ok("the GPUs are simulated: %d", d.Simulated)}
	case d.None:
		return []Finding{a.ok("this node has no GPUs (agent.gpus: none)")}
	case d.Err != nil:
		return []Finding{a.fault("install the driver of NVIDIA (nvidia-smi must list the GPUs), or set agent.gpus: none", "%v", d.Err)}
	case len(d.Cards) == 0:
		return []Finding{a.fault("look for Xid lines in dmesg, and for the cards with lspci -d 10de:", "the driver %s finds no GPU", d.Version)}
	}
	out = append(out, a.ok("driver %s, %s", d.Version, count(len(d.Cards), "GPU")))
	quiet, strange := []string{}, 0
	for _, c := range d.Cards {
		of := about{CheckDriver, c.ID}
		if c.Err != nil {
			out = append(out, of.fault("look for Xid lines in dmesg; berth nodes shows whether the GPU is quarantined", "the GPU cannot be read: %v", c.Err))
			continue
		}
		if c.Persistence == Off {
			quiet = append(quiet, c.ID)
		}
		if c.ECC == Off {
			out = append(out, of.warning("nvidia-smi -e 1 and a restart of the host, unless the memory is meant to be unprotected", "%s: errors of memory are not corrected (ECC is off)", c.Model))
		}
		if len(c.Strangers) > 0 {
			strange++
			out = append(out, of.warning("end these processes, or keep jobs off the GPU: berth cordon NODE:"+c.ID, "processes that no job of Berth has started use the GPU: %s", strings.Join(c.Strangers, ", ")))
		}
	}
	if len(quiet) > 0 {
		slices.Sort(quiet)
		out = append(out, about{CheckDriver, "persistence mode"}.warning("systemctl enable --now nvidia-persistenced",
			"%s: the driver unloads them when no process uses them, and the next job waits for seconds", fmt.Sprintf("off for %s (%s)", count(len(quiet), "GPU"), strings.Join(quiet, ", "))))
	}
	return out
}
