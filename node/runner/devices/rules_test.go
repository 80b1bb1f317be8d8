package devices

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// fake returns a kernel with files of these contents below /proc and /sys.
func fake(t *testing.T, files map[string]string) Kernel {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Kernel{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

// three returns a host with three GPUs, of which GPU-c has parts, and another maker's
// display.
func three(t *testing.T) Kernel {
	return fake(t, map[string]string{
		"proc/devices": "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n195 nvidia-modeset\n226 drm\n235 nvidia-caps\n511 nvidia-uvm\n\nBlock devices:\n195 nvidia\n  7 loop\n",
		"proc/driver/nvidia/gpus/0000:10:00.0/information":                   "Model: \t NVIDIA H100\nGPU UUID: \t GPU-a\nDevice Minor: \t 2\n",
		"proc/driver/nvidia/gpus/0000:2F:00.0/information":                   "GPU UUID: \t GPU-b\nDevice Minor: \t 0\n",
		"proc/driver/nvidia/gpus/0000:30:00.0/information":                   "GPU UUID: \t GPU-c\nDevice Minor: \t 1\n",
		"proc/driver/nvidia/capabilities/gpu1/mig/gi1/access":                "DeviceFileMinor: 12\nDeviceFileMode: 292\n",
		"proc/driver/nvidia/capabilities/gpu1/mig/gi1/ci0/access":            "DeviceFileMinor: 13\nDeviceFileMode: 292\n",
		"proc/driver/nvidia/capabilities/mig/config":                         "DeviceFileMinor: 1\nDeviceFileMode: 256\n",
		"sys/bus/pci/devices/0000:10:00.0/drm/renderD128/dev":                "226:128\n",
		"sys/bus/pci/devices/0000:2f:00.0/drm/card1/dev":                     "226:1\n",
		"sys/bus/pci/devices/0000:2f:00.0/drm/renderD129/dev":                "226:129\n",
		"sys/bus/pci/devices/0000:99:00.0/drm/card9/dev":                     "226:9\n",
		"sys/bus/pci/devices/0000:30:00.0/drm/card2/dev":                     "what is this",
		"proc/driver/nvidia/capabilities/gpu0/mig/gi1/access":                "DeviceFileMinor: 3\n",
		"proc/driver/nvidia/capabilities/gpu1/mig/gi1/ci0/something else/no": "DeviceFileMinor: 99\n",
	})
}

// A rank may open its own GPUs, what belongs to them and what belongs to none, and
// nothing that leads to another GPU.
func TestRules(t *testing.T) {
	type device struct{ major, minor uint32 }
	common := []device{{1, 3}, {1, 7}, {5, 2}, {136, 0}, {195, 255}, {195, 254}, {511, 0}, {511, 1}, {226, 9}, {226, 2}, {10, 229}, {231, 0}}
	for name, c := range map[string]struct {
		gpus          []string
		allowed, kept []device
	}{
		"one": {
			[]string{"GPU-a"},
			[]device{{195, 2}, {226, 128}},
			[]device{{195, 0}, {195, 1}, {195, 3}, {195, 253}, {195, 256}, {195, 1 << 20}, {226, 1}, {226, 129}, {235, 1}, {235, 3}, {235, 12}},
		},
		"one in parts": {[]string{"GPU-c"}, []device{{195, 1}, {235, 12}, {235, 13}}, []device{{195, 0}, {195, 2}, {235, 1}, {235, 3}, {235, 99}, {226, 128}}},
		"two":          {[]string{"GPU-b", "GPU-a"}, []device{{195, 0}, {195, 2}, {226, 1}, {226, 128}, {235, 3}}, []device{{195, 1}, {235, 12}}},
		"none":         {nil, nil, []device{{195, 0}, {195, 1}, {195, 2}, {226, 1}, {226, 128}, {235, 3}}},
		"unknown":      {[]string{"GPU-a", "MIG-x"}, []device{{195, 0}, {195, 1}, {235, 12}, {226, 129}}, nil},
	} {
		rules, err := three(t).Rules(c.gpus)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range append(common, c.allowed...) {
			if !allows(rules, d.major, d.minor) {
				t.Errorf("%s: %d:%d is denied", name, d.major, d.minor)
			}
		}
		for _, d := range c.kept {
			if allows(rules, d.major, d.minor) {
				t.Errorf("%s: %d:%d is allowed", name, d.major, d.minor)
			}
		}
	}
}

// Of a GPU without a readable UUID only one thing is known: the rank does not own it.
func TestRulesOfAnUnreadableGPU(t *testing.T) {
	k := fake(t, map[string]string{
		"proc/devices": "Character devices:\n195 nvidia-frontend\n",
		"proc/driver/nvidia/gpus/0000:10:00.0/information": "GPU UUID: GPU-a\nDevice Minor: 0\n",
		"proc/driver/nvidia/gpus/0000:20:00.0/information": "GPU UUID: GPU-????????\n",
	})
	rules, err := k.Rules([]string{"GPU-a"})
	if err != nil || !allows(rules, 195, 0) || allows(rules, 195, 1) {
		t.Errorf("%v, %v", rules, err)
	}
}

// Without a driver there is nothing to deny; without a readable kernel nothing starts.
func TestNoRules(t *testing.T) {
	k := fake(t, map[string]string{"proc/devices": "Character devices:\n  1 mem\n\nBlock devices:\n195 nvidia\n"})
	for _, gpus := range [][]string{nil, {"GPU-simulated"}} {
		if rules, err := k.Rules(gpus); err != nil || !reflect.DeepEqual(rules, []Rule(nil)) {
			t.Errorf("%v, %v", rules, err)
		}
	}
	if _, err := (Kernel{Proc: t.TempDir()}).Rules(nil); err == nil {
		t.Error("nothing is said of a kernel that does not show its devices")
	}
}
