package simgpu

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/files/proc"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

func open(t *testing.T, path string, n int) *gpu.Monitor {
	t.Helper()
	m, err := Open(path, n)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// owner owns everything but some processes.
type owner struct{ strangers map[int]bool }

func (o owner) Mine(pid int, _ model.GPUID) bool { return !o.strangers[pid] }
func (owner) Holder(model.GPUID) string          { return "job" }

// run opens GPUs and has them watched until the test ends.
func run(t *testing.T, path string, n int, strangers ...int) *gpu.Monitor {
	t.Helper()
	o := owner{strangers: map[int]bool{}}
	for _, pid := range strangers {
		o.strangers[pid] = true
	}
	p, err := Find(path, n)
	if err != nil {
		t.Fatal(err)
	}
	quick := judge.Defaults()
	quick.Rise, quick.Settle = 50*time.Millisecond, 100*time.Millisecond
	m, err := gpu.NewMonitor(gpu.Options{Probe: p, Judge: quick})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx, o)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return m
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
	cutShort(t, path)
	if again := open(t, path, 8).Inventory(); again[0].ID != first[0].ID {
		t.Error("a damaged file was not read from its copy")
	}
	for _, copy := range files(t, filepath.Dir(path)) {
		cutShort(t, copy)
	}
	if _, err := Open(path, 1); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("all copies are damaged: %v", err)
	}
}

// cutShort makes a file one of which the first bytes only were written.
func cutShort(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("[\"GPU-"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files lists the files of a folder.
func files(t *testing.T, folder string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths
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
	devices := s.Inventory()
	ids := []model.GPUID{devices[0].ID, devices[1].ID, "GPU-unknown"}
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

// A process that had no GPUs is looked at again: while it is young, when its number is another process's, and after a while.
func TestProcessesWithoutGPUsAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	p, err := Find(filepath.Join(t.TempDir(), "gpus.json"), 1)
	if err != nil {
		t.Fatal(err)
	}
	pid := on(t, p.devices[0].ID, "sleep", "600").Process.Pid
	sees := func() bool {
		return slices.ContainsFunc(p.findUsers(), func(u gpuUser) bool { return u.id.PID == pid })
	}
	until(t, "the process is not seen", sees)
	folder := uint64(0)
	for listed, its := range proc.Listed() {
		if listed == pid {
			folder = its
		}
	}
	now := time.Now()
	for _, v := range []struct {
		what  string
		known without
		seen  bool
	}{
		{what: "one that is believed to have none", known: without{folder: folder, next: now.Add(time.Hour)}},
		{what: "one that is not believed any more", known: without{folder: folder, next: now}, seen: true},
		{what: "another one with its number", known: without{folder: folder + 1, next: now.Add(time.Hour)}, seen: true},
		{what: "a young one", known: without{folder: folder, first: now}, seen: true},
	} {
		p.others[pid] = v.known
		if got := sees(); got != v.seen {
			t.Errorf("%s: seen %t", v.what, got)
		}
	}
}

// A job that sleeps shows nothing, one that spins shows load and what goes with it.
func TestSamples(t *testing.T) {
	s := run(t, filepath.Join(t.TempDir(), "gpus.json"), 2)
	devices := s.Inventory()
	on(t, devices[0].ID, "sleep", "600")
	on(t, devices[1].ID, "sh", "-c", "while :; do :; done")
	until(t, "no load is seen", func() bool { return s.Samples()[1].Utilization > 10 })
	until(t, "the sleeper shows load", func() bool {
		all := s.Samples()
		return all[0].Utilization == 0 && all[0].PowerWatts == 70 && all[0].Temperature == 32 && len(all[0].Processes) == 1
	})
	until(t, "the load shows no heat", func() bool {
		all := s.Samples()
		return all[1].Utilization > 10 && all[1].PowerWatts > 130 && all[1].Temperature > 36 && all[1].Processes[0].Managed
	})
	until(t, "it is not remembered", func() bool {
		h := s.History(time.Time{})[1].Points
		return len(h) > 1 && h[len(h)-1].ClockMHz > 345 && h[len(h)-1].At.After(h[0].At)
	})
}

// damage replaces the file of faults next to a file of UUIDs.
func damage(t *testing.T, path string, faults any) {
	t.Helper()
	data, err := json.Marshal(faults)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(filepath.Dir(path), FaultsFile)
	if err := errors.Join(os.WriteFile(at+".new", data, 0o600), os.Rename(at+".new", at)); err != nil {
		t.Fatal(err)
	}
}

// The faults in the file affect the GPUs that it names, and no other.
func TestFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.json")
	s := run(t, path, 6)
	ids := s.Inventory()
	damage(t, path, map[string]Fault{
		"0": {Xids: []uint64{79}}, string(ids[1].ID): {Failed: true}, "2": {Uncorrected: 2}, "3": {Xids: []uint64{13}}, "4": {Recovery: 2},
	})
	want := []model.Health{
		model.HealthQuarantined, model.HealthQuarantined, model.HealthDegraded, model.HealthHealthy, model.HealthQuarantined, model.HealthHealthy,
	}
	until(t, "the verdicts", func() bool {
		for i, d := range s.Inventory() {
			if d.Health != want[i] || (d.Why == "") != (d.Health == model.HealthHealthy) {
				return false
			}
		}
		return true
	})
	damage(t, path, map[string]Fault{"5": {Lost: true}})
	until(t, "the GPU is lost", func() bool { return strings.Contains(s.Inventory()[5].Why, "lost") })
	if v := s.Check([]model.GPUID{ids[5].ID, ids[3].ID}); v[0].Clean() || !v[1].Clean() {
		t.Errorf("one is lost and one is not: %+v", v)
	}
}

// A look hangs for as long as the file has that fault, or until the agent ends.
func TestHang(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.json")
	p, err := Find(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.Watch(ctx)
	}()
	seen := make(chan gpu.Look)
	look := func() { seen <- p.Look(p.devices[0].ID, time.Now()) }
	damage(t, path, map[string]Fault{"0": {Hang: true}})
	go look()
	if l := p.Look(p.devices[1].ID, time.Now()); l.Trouble != judge.TroubleNone {
		t.Errorf("the other: %+v", l.Reading)
	}
	damage(t, path, map[string]Fault{"1": {Hang: true}})
	if l := <-seen; l.Trouble != judge.TroubleNone {
		t.Errorf("it comes back with %+v", l.Reading)
	}
	damage(t, path, map[string]Fault{"0": {Hang: true}})
	go look()
	cancel()
	if l := <-seen; l.Trouble == judge.TroubleNone {
		t.Error("a look that hangs has seen something")
	}
	<-watched
}

// A damaged file of faults is reported, and has no other effect.
func TestDamagedFaults(t *testing.T) {
	p, err := Find(filepath.Join(t.TempDir(), "gpus.json"), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{", `{"0": {"xid": 79}}`, "[]", `{"0": {"xids": [-1]}}`} {
		if err := os.WriteFile(p.faults, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l := p.Look(p.devices[0].ID, time.Now()); l.Trouble == 0 || !strings.Contains(l.Detail, FaultsFile) || len(l.Xids) > 0 {
			t.Errorf("%s: %+v", text, l.Reading)
		}
	}
}

// A list of Xids is raised once, and again when it changes.
func TestXidsAreRaisedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.json")
	p, err := Find(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	look := func(codes ...uint64) int {
		damage(t, path, map[string]Fault{"0": {Xids: codes}})
		return len(p.Look(p.devices[0].ID, time.Now()).Xids)
	}
	for i, c := range []struct {
		codes []uint64
		want  int
	}{{[]uint64{13}, 1}, {[]uint64{13}, 0}, {[]uint64{13, 48}, 2}, {nil, 0}, {[]uint64{13}, 1}} {
		if got := look(c.codes...); got != c.want {
			t.Errorf("look %d raises %d", i, got)
		}
	}
}

// A process that is on a GPU and not the owner's is named in the verdict; when it is
// gone, the GPU is as good as before.
func TestStranger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.json")
	id := open(t, path, 2).Inventory()[1].ID
	cmd := on(t, id, "sleep", "600")
	s := run(t, path, 2, cmd.Process.Pid)
	until(t, "the stranger is seen", func() bool { return s.Inventory()[1].Health == model.HealthUnmanaged })
	if why := s.Inventory()[1].Why; !strings.Contains(why, "sleep (pid ") {
		t.Errorf("why: %q", why)
	}
	if d := s.Inventory()[0]; d.Health != model.HealthHealthy {
		t.Errorf("the other: %+v", d)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "it is over", func() bool { return s.Inventory()[1].Health == model.HealthHealthy })
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		used, passed time.Duration
		want         uint8
	}{
		{0, time.Second, 0},
		{time.Second, 2 * time.Second, 50},
		{3 * time.Second, time.Second, 100},
		{time.Second, 0, 0},
		{time.Second, -1, 0},
	} {
		if got := percent(c.used, c.passed); got != c.want {
			t.Errorf("%s of %s is %d %%, want %d", c.used, c.passed, got, c.want)
		}
	}
}
