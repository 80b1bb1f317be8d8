package root

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Folders of the driver in an image: those that the images of CUDA search.
const (
	DriverLibraries = "/usr/local/nvidia/lib64"
	DriverPrograms  = "/usr/local/nvidia/bin"
)

// driverFile exists while NVIDIA's driver is loaded.
const driverFile = "/proc/driver/nvidia/version"

// Driver returns the mounts of the libraries and programs of NVIDIA's driver, none on a node without the driver. An image has none that fit
// the driver of the node.
func Driver(ctx context.Context) ([]Bind, error) {
	text, err := os.ReadFile(driverFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := exec.CommandContext(ctx, "/sbin/ldconfig", "-p").Output()
	if err != nil {
		return nil, err
	}
	binds := libraries(string(list), driverVersion(string(text)), filepath.EvalSymlinks)
	for _, name := range []string{"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"} {
		if path, err := exec.LookPath(name); err == nil {
			binds = append(binds, Bind{Source: path, Target: filepath.Join(DriverPrograms, name), ReadOnly: true, Optional: true})
		}
	}
	return binds, nil
}

var versionForm = regexp.MustCompile(`\b\d{3,}\.\d+(\.\d+)?\b`)

// driverVersion returns the version in the driver's file, such as 550.90.07; empty: there is none.
func driverVersion(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return versionForm.FindString(first)
}

// libraries returns the mounts of those libraries in the list of the linker that belong to the driver: their files have its version.
// resolve returns the path of the file that a link leads to.
func libraries(list, version string, resolve func(string) (string, error)) []Bind {
	if version == "" {
		return nil
	}
	var binds []Bind
	seen := map[string]bool{}
	for line := range strings.Lines(list) {
		left, path, found := strings.Cut(line, " => ")
		name, kind, _ := strings.Cut(strings.TrimSpace(left), " ")
		if path = strings.TrimSpace(path); !found || seen[name] || !strings.Contains(kind, "64") {
			continue
		}
		file, err := resolve(path)
		if err != nil || !strings.HasSuffix(file, ".so."+version) {
			continue
		}
		seen[name] = true
		binds = append(binds, Bind{Source: file, Target: filepath.Join(DriverLibraries, name), ReadOnly: true})
	}
	slices.SortFunc(binds, func(a, b Bind) int { return strings.Compare(a.Target, b.Target) })
	return binds
}
