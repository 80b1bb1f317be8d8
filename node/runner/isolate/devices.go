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

// Host returns the folders of a real host.
func Host() Devices { return Devices{Proc: "/proc/driver/nvidia/gpus", Dev: "/dev"} }

// Others returns the devices of GPUs to hide from a rank with these UUIDs. If the driver does not show one of
// the rank's own GPUs, such as a part of a GPU, nothing is hidden, since the rank may need any of them, and
// ok is false.
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

// names returns the device names of GPUs; none on a host without GPUs.
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

// minor returns the number in the name of a GPU's device; empty: the driver shows no such GPU.
func (d Devices) minor(uuid string) string {
	for _, g := range d.GPUs() {
		if g.UUID == uuid {
			return g.Minor
		}
	}
	return ""
}

// GPU is a GPU as the driver shows it.
type GPU struct {
	UUID  string
	Minor string // number in the name of its device
	PCI   string // its place, such as "0000:10:00.0"
}

// GPUs returns the GPUs that the driver shows; none on a host without a driver.
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
