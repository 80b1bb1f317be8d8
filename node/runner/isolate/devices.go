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
	own := map[string]bool{}
	for _, id := range uuids {
		minor := d.minor(id)
		if minor == "" {
			return nil, false
		}
		own["nvidia"+minor] = true
	}
	entries, _ := os.ReadDir(d.Dev) // without devices there is nothing to hide
	for _, e := range entries {
		number, is := strings.CutPrefix(e.Name(), "nvidia")
		if is && number != "" && strings.Trim(number, "0123456789") == "" && !own[e.Name()] {
			hide = append(hide, filepath.Join(d.Dev, e.Name()))
		}
	}
	slices.Sort(hide)
	return hide, true
}

// minor is the number in the name of a GPU's device; empty: the driver shows no such
// GPU.
func (d Devices) minor(uuid string) string {
	files, _ := filepath.Glob(filepath.Join(d.Proc, "*", "information")) // the pattern is fit
	for _, path := range files {
		data, _ := os.ReadFile(path) //nolint:gosec // the driver's
		values := map[string]string{}
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, ":")
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		if values["GPU UUID"] == uuid {
			return values["Device Minor"]
		}
	}
	return ""
}
