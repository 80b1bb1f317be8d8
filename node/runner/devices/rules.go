package devices

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/node/runner/isolate"
)

// Minors of the driver's major that are not GPUs: its control device and the one for displays, without which
// drawing fails.
const (
	firstOther = 254 // nvidia-modeset
	lastOther  = 255 // nvidiactl
)

// Rule covers the character devices of one major whose minors are From to To.
type Rule struct {
	Major, From, To uint32
	Allow           bool
}

// allows reports whether a device is allowed: the first rule that covers it decides, and a device without a
// rule is allowed.
func allows(rules []Rule, major, minor uint32) bool {
	for _, r := range rules {
		if r.Major == major && r.From <= minor && minor <= r.To {
			return r.Allow
		}
	}
	return true
}

// Kernel is where a kernel shows its devices.
type Kernel struct {
	Proc string // normally /proc
	Sys  string // normally /sys
}

// Host returns the kernel of a real host.
func Host() Kernel { return Kernel{Proc: "/proc", Sys: "/sys"} }

// Rules returns the rules for a rank that has the GPUs of these UUIDs. There are none on a host without a
// driver, and none for a rank one of whose GPUs the driver does not show, such as a part of a GPU or a
// simulated one: it may need any of them.
func (k Kernel) Rules(uuids []string) ([]Rule, error) {
	majors, err := k.majors()
	if err != nil || len(majors.gpus) == 0 {
		return nil, err
	}
	own, others, known := k.split(uuids)
	if !known {
		return nil, nil
	}
	var rules []Rule
	for _, major := range majors.gpus {
		for _, g := range own {
			rules = append(rules, Rule{major, g.minor, g.minor, true})
		}
		rules = append(rules, Rule{major, firstOther, lastOther, true}, Rule{Major: major, To: ^uint32(0)})
	}
	for _, major := range majors.caps {
		for _, g := range own {
			for _, minor := range k.capabilities(g.minor) {
				rules = append(rules, Rule{major, minor, minor, true})
			}
		}
		rules = append(rules, Rule{Major: major, To: ^uint32(0)})
	}
	for _, g := range others {
		rules = append(rules, k.drawing(g.pci)...)
	}
	return rules, nil
}

// majors are the device numbers of the driver.
type majors struct{ gpus, caps []uint32 }

// majors reads the numbers: that of GPUs is 195 on every host today, the others are assigned as drivers load.
func (k Kernel) majors() (m majors, err error) {
	data, err := os.ReadFile(filepath.Join(k.Proc, "devices"))
	if err != nil {
		return m, fmt.Errorf("which devices there are: %w", err)
	}
	characters, _, _ := strings.Cut(string(data), "Block devices:")
	for line := range strings.Lines(characters) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		n, err := strconv.ParseUint(f[0], 10, 32)
		to := &m.gpus
		switch {
		case err != nil:
			continue
		case f[1] == "nvidia-caps":
			to = &m.caps
		case f[1] != "nvidia" && f[1] != "nvidia-frontend":
			continue
		}
		if !slices.Contains(*to, uint32(n)) {
			*to = append(*to, uint32(n))
		}
	}
	return m, nil
}

// card is a GPU as the driver shows it.
type card struct {
	minor uint32
	pci   string
}

// split separates a rank's GPUs from the others; false: the driver does not show one of them. A GPU whose
// UUID is not readable, such as a failed one, is one of the others.
func (k Kernel) split(uuids []string) (own, others []card, known bool) {
	found := 0
	for _, g := range (isolate.Devices{Proc: filepath.Join(k.Proc, "driver/nvidia/gpus")}).GPUs() {
		minor, err := strconv.ParseUint(g.Minor, 10, 32)
		c := card{uint32(minor), g.PCI}
		if err == nil && slices.Contains(uuids, g.UUID) {
			own, found = append(own, c), found+1
		} else {
			others = append(others, c)
		}
	}
	return own, others, found == len(uuids)
}

// capabilities returns the minors of the devices that give access to parts of a GPU.
func (k Kernel) capabilities(gpu uint32) (minors []uint32) {
	root := filepath.Join(k.Proc, "driver/nvidia/capabilities", fmt.Sprintf("gpu%d", gpu))
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // what cannot be read gives no access
		if err != nil || d.Name() != "access" {
			return nil
		}
		data, _ := os.ReadFile(path) //nolint:gosec // the driver's
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, ":")
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32); err == nil && strings.TrimSpace(name) == "DeviceFileMinor" {
				minors = append(minors, uint32(n))
			}
		}
		return nil
	})
	return minors
}

// drawing denies the devices by which a GPU draws, and which also allow to compute on it.
func (k Kernel) drawing(pci string) (rules []Rule) {
	files, _ := filepath.Glob(filepath.Join(k.Sys, "bus/pci/devices", strings.ToLower(pci), "drm/*/dev")) // a PCI address has nothing that Glob reads
	for _, path := range files {
		data, _ := os.ReadFile(path) //nolint:gosec // the kernel's
		major, minor, _ := strings.Cut(strings.TrimSpace(string(data)), ":")
		a, err := strconv.ParseUint(major, 10, 32)
		b, err2 := strconv.ParseUint(minor, 10, 32)
		if err == nil && err2 == nil {
			rules = append(rules, Rule{Major: uint32(a), From: uint32(b), To: uint32(b)})
		}
	}
	return rules
}
