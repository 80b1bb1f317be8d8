//go:build linux && cgo

package nvml

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// wires are a GPU's connections by NVLink.
type wires struct {
	pci    string
	fabric string   // the partition of a fabric that it has joined; "": none
	toHub  bool     // it is wired to a switch
	peers  []string // PCI addresses of the GPUs that it is wired to
}

// wires reads a GPU's NVLink connections.
func (p *Probe) wires(handle nvml.Device, pci string) wires {
	w := wires{pci: pci}
	if p.has("nvmlDeviceGetGpuFabricInfo") {
		if info, ret := handle.GetGpuFabricInfo(); good(ret) && info.State == nvml.GPU_FABRIC_STATE_COMPLETED && info.Status == 0 {
			w.fabric = fmt.Sprintf("fabric-%x-%d", info.ClusterUuid[:4], info.CliqueId)
		}
	}
	for i := range nvml.NVLINK_MAX_LINKS {
		state, ret := handle.GetNvLinkState(i)
		if !good(ret) {
			break // it has no further ones, or none at all
		}
		if state != nvml.FEATURE_ENABLED {
			continue
		}
		if p.has("nvmlDeviceGetNvLinkRemoteDeviceType") {
			if kind, ret := handle.GetNvLinkRemoteDeviceType(i); good(ret) && kind == nvml.NVLINK_DEVICE_TYPE_SWITCH {
				w.toHub = true
				continue
			}
		}
		if remote, ret := handle.GetNvLinkRemotePciInfo(i); good(ret) {
			w.peers = append(w.peers, text(remote.BusId[:]))
		}
	}
	return w
}

// connect gives every GPU a label that it shares with those that NVLink joins it to, directly or by way of
// others; "" if there are none.
func connect(all []found) []string {
	group := make([]int, len(all)) // the least index in the group
	for i := range group {
		group[i] = i
	}
	for i := range all {
		for j := range i {
			if a, b := group[i], group[j]; a != b && joined(all[i].wires, all[j].wires) {
				for k, g := range group {
					if g == a || g == b {
						group[k] = min(a, b)
					}
				}
			}
		}
	}
	words := make([]string, len(all))
	for i, g := range group {
		w := all[i].wires
		switch alone := !slices.Contains(slices.Delete(slices.Clone(group), i, i+1), g); {
		case w.fabric != "":
			words[i] = w.fabric
		case w.toHub:
			words[i] = fmt.Sprintf("nvswitch-%d", g)
		case !alone:
			words[i] = fmt.Sprintf("nvlink-%d", g)
		}
	}
	return words
}

// joined reports whether two GPUs are connected.
func joined(a, b wires) bool {
	return a.fabric != "" && a.fabric == b.fabric || a.fabric == b.fabric && a.toHub && b.toHub ||
		a.pci != "" && slices.Contains(b.peers, a.pci) || b.pci != "" && slices.Contains(a.peers, b.pci)
}

// numa returns the memory node next to a GPU; 0 where the host has only one.
func (p *Probe) numa(pci string) int32 {
	domain, rest, found := strings.Cut(pci, ":")
	if !found {
		return 0
	}
	if len(domain) > 4 {
		domain = domain[len(domain)-4:]
	}
	name := strings.ToLower(domain + ":" + rest)
	data, err := os.ReadFile(filepath.Join(p.options.Sys, "bus/pci/devices", filepath.Base(name), "numa_node"))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 32)
	if err != nil {
		return 0
	}
	return int32(max(n, 0))
}
