package simgpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

func open(t *testing.T, path string, n int) *Source {
	t.Helper()
	s, err := Open(path, n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The GPUs belong to their file.
func TestInventory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.json")
	first, again := open(t, path, 4).Inventory(), open(t, path, 8).Inventory()
	for i, d := range first {
		if again[i].ID != d.ID || d.Index != uint32(i) || !d.Idle || d.Health != model.HealthHealthy || d.MemoryMB != 81559 {
			t.Errorf("GPU %d: %+v, later %+v", i, d, again[i])
		}
		if !strings.HasPrefix(string(d.ID), "GPU-") || len(d.ID) != 40 {
			t.Errorf("no UUID: %s", d.ID)
		}
	}
	if again[0].NUMA != 0 || again[3].NUMA != 0 || again[4].NUMA != 1 || again[7].NUMA != 1 {
		t.Errorf("sockets: %+v", again)
	}
	other := open(t, filepath.Join(t.TempDir(), "gpus.json"), 1).Inventory()
	if other[0].ID == first[0].ID {
		t.Error("two folders have one GPU")
	}
	for _, n := range []int{0, -1, MaxGPUs + 1} {
		if _, err := Open(path, n); err == nil {
			t.Errorf("%d GPUs", n)
		}
	}
	if err := os.WriteFile(path, []byte("[\"GPU-"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, 1); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}

// on starts a program that has a GPU.
func on(t *testing.T, id model.GPUID, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "BERTH_GPU_UUIDS=GPU-other,"+string(id))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// until looks again and again.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal(what)
		}
	}
}

// A GPU is as clean as the processes that it was given to are gone.
func TestCheck(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "gpus.json"), 2)
	ids := []model.GPUID{s.devices[0].ID, s.devices[1].ID, "GPU-unknown"}
	cmd := on(t, ids[1], "sleep", "600")
	until(t, "the process is not seen", func() bool { return len(s.Check(ids)[1].Processes) == 1 })
	v := s.Check(ids)
	if !v[0].Clean() || v[1].Clean() || v[2].Clean() || v[1].Index != 1 || v[1].Processes[0].PID != int32(cmd.Process.Pid) {
		t.Errorf("verdicts: %+v", v)
	}
	if d := s.Inventory(); !d[0].Idle || d[1].Idle {
		t.Errorf("inventory: %+v", d)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "a zombie keeps the GPU", func() bool { return s.Check(ids)[1].Clean() })
}

// A job that sleeps shows nothing, one that spins shows load and what goes with it.
func TestSamples(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "gpus.json"), 2)
	on(t, s.devices[0].ID, "sleep", "600")
	on(t, s.devices[1].ID, "sh", "-c", "while :; do :; done")
	until(t, "no load is seen", func() bool { return s.Samples()[1].Utilization > 10 })
	until(t, "the sleeper shows load", func() bool {
		all := s.Samples()
		return all[0].Utilization == 0 && all[0].PowerWatts == 70 && all[0].Temperature == 32 && len(all[0].Processes) == 1
	})
	until(t, "the load shows no heat", func() bool {
		all := s.Samples()
		return all[1].Utilization > 10 && all[1].PowerWatts > 130 && all[1].Temperature > 36
	})
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		used, passed time.Duration
		want         uint8
	}{{0, time.Second, 0}, {time.Second, 2 * time.Second, 50}, {3 * time.Second, time.Second, 100}, {time.Second, 0, 0}, {time.Second, -1, 0}} {
		if got := percent(c.used, c.passed); got != c.want {
			t.Errorf("%s of %s is %d %%, want %d", c.used, c.passed, got, c.want)
		}
	}
}
