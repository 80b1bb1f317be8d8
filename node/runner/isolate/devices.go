package isolate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Devices are the folders in which the driver shows GPUs.
type Devices struct {
	Proc string // normally /proc/driver/nvidia/gpus
	Dev  string // normally /dev
}

// Host are those of a real host.
func Host() Devices { return Devices{Proc: "/proc/driver/nvidia/gpus", Dev: "/dev"} }

// Others are the devices of GPUs that a rank with these UUIDs is not to see. If one
// of its own is none that the driver shows, such as a part of a GPU, nothing is
// hidden: it may need any of them. False then.
func (d Devices) Others(uuids []string) (hide []string, ok bool) {
	names := d.names()
	for _, id := range uuids {
		own := "nvidia" + d.minor(id)
		if len(names) > 0 && !slices.Contains(names, own) {
			return nil, false
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == own })
	}
	for _, name := range names {
		hide = append(hide, filepath.Join(d.Dev, name))
	}
	return hide, true
}

// names lists the devices of GPUs; none on a host without.
func (d Devices) names() (out []string) {
	entries, _ := os.ReadDir(d.Dev)
	for _, e := range entries {
		number, is := strings.CutPrefix(e.Name(), "nvidia")
		if is && number != "" && strings.Trim(number, "0123456789") == "" {
			out = append(out, e.Name())
		}
	}
	return out
}

// minor is the number in the name of a GPU's device; empty: the driver shows no such
// GPU.
func (d Devices) minor(uuid string) string {
	for _, g := range d.GPUs() {
		if g.UUID == uuid {
			return g.Minor
		}
	}
	return ""
}

// GPU is what the driver shows of one, as it writes it.
type GPU struct {
	UUID  string
	Minor string // number in the name of its device
	PCI   string // its place, such as "0000:10:00.0"
}

// GPUs lists what the driver shows; none on a host without.
func (d Devices) GPUs() (out []GPU) {
	files, _ := filepath.Glob(filepath.Join(d.Proc, "*", "information")) // the pattern is fit
	for _, path := range files {
		data, _ := os.ReadFile(path) //nolint:gosec // the driver's
		values := map[string]string{}
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, ":")
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		out = append(out, GPU{UUID: values["GPU UUID"], Minor: values["Device Minor"], PCI: filepath.Base(filepath.Dir(path))})
	}
	return out
}
