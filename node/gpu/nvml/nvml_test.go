//go:build linux && cgo

package nvml

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// list lists the GPUs that a probe sees.
func list(t *testing.T, p *Probe) []model.Device {
	t.Helper()
	devices, err := p.List()
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// until looks again and again.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal(what)
		}
	}
}

func TestList(t *testing.T) {
	h := newHost(t)
	sys := t.TempDir()
	node := filepath.Join(sys, "bus/pci/devices/0000:1e:00.0")
	if err := os.MkdirAll(node, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(node, "numa_node"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	devices := list(t, newProbe(h.Server, Options{Sys: sys}))
	if len(devices) != 8 {
		t.Fatalf("%d devices", len(devices))
	}
	for i, d := range devices {
		want := model.Device{
			ID: model.GPUID(h.cards[i].UUID), Index: uint32(i), Model: "NVIDIA H100 80GB HBM3", MemoryMB: 81920,
			PCI: address(i), Link: "nvswitch-0",
		}
		if i == 3 {
			want.NUMA = 1
		}
		if d != want {
			t.Errorf("device %d:\n%+v, want\n%+v", i, d, want)
		}
	}
}

// What is divided is listed in parts, which are read apart but for what they share.
func TestParts(t *testing.T) {
	h := newHost(t)
	if ret, _ := h.cards[1].SetMigMode(1); !good(ret) {
		t.Fatal(ret)
	}
	h.cards[1].parts = []nvml.Device{part("MIG-a", 4), nil, part("MIG-b", 5)}
	p := newProbe(h.Server, Options{})
	devices := list(t, p)
	if len(devices) != 9 || devices[1].ID != "MIG-a" || devices[2].ID != "MIG-b" || devices[2].MemoryMB != 10240 ||
		devices[2].Index != 1 || devices[2].PCI != devices[1].PCI || !strings.Contains(devices[1].Model, "1g.10gb") || devices[3].Index != 2 {
		t.Fatalf("%+v", devices)
	}
	if devices[1].Link != "" || devices[2].Link != "" || devices[3].Link == "" || devices[3].Link != devices[0].Link {
		t.Errorf("NVLink joins %q, %q, %q and %q: parts reach no GPU by it", devices[0].Link, devices[1].Link, devices[2].Link, devices[3].Link)
	}
	l := p.Look("MIG-a", time.Now())
	if !l.Point.Unmeasured || l.Point.MemoryUsedMB != 3072 || l.Temperature != 61 || len(l.Processes) != 1 || l.Processes[0].MemoryMB != 2048 {
		t.Errorf("%+v", l)
	}
	for _, c := range []struct {
		instance uint32
		want     []model.GPUID
	}{{5, []model.GPUID{"MIG-b"}}, {1<<32 - 1, []model.GPUID{"MIG-a", "MIG-b"}}} {
		if got := p.whose(model.GPUID(h.cards[1].UUID), c.instance); !slices.Equal(got, c.want) {
			t.Errorf("an event of instance %d concerns %v", c.instance, got)
		}
	}
}

func TestLook(t *testing.T) {
	h := newHost(t)
	p := newProbe(h.Server, Options{})
	id := list(t, p)[0].ID
	me := uint32(os.Getpid())
	h.cards[0].change(func(c *card) {
		c.processes = []nvml.ProcessInfo{
			{Pid: me, UsedGpuMemory: 3 << 30},
			{Pid: me, UsedGpuMemory: 1 << 30},
			{Pid: 1 << 22, UsedGpuMemory: 1<<64 - 1},
		}
		c.used = 5 << 30
	})
	l := p.Look(id, time.Now())
	want := gpu.Point{
		Utilization: 97, MemoryBusy: 41, Temperature: 61, MemoryUsedMB: 5120, PowerWatts: 512, ClockMHz: 1980, MemoryMHz: 2619, Corrected: 5,
	}
	if l.Point != want || l.Temperature != 61 || l.Recovery != judge.RecoveryNone || l.Trouble != judge.TroubleNone || l.Leftover {
		t.Errorf("%+v", l)
	}
	if len(l.Processes) != 2 || l.Processes[0].PID != int32(me) || l.Processes[0].MemoryMB != 4096 || l.Processes[0].User == "" ||
		l.Processes[0].Name == "" || l.Processes[1].MemoryMB != 0 {
		t.Errorf("processes: %+v", l.Processes)
	}
}

// Memory in use without a process is what a killed job may leave; what a screen needs
// is not.
func TestLeftover(t *testing.T) {
	h := newHost(t)
	p := newProbe(h.Server, Options{})
	id := list(t, p)[0].ID
	for name, c := range map[string]struct {
		change func(*card)
		want   bool
	}{
		"the driver's own": {func(c *card) { c.used = 200 << 20 }, false},
		"left behind":      {func(c *card) { c.used = 5 << 30 }, true},
		"a process":        {func(c *card) { c.used = 5 << 30; c.processes = []nvml.ProcessInfo{{Pid: 1}} }, false},
		"a screen":         {func(c *card) { c.used = 5 << 30; c.drawing = []nvml.ProcessInfo{{Pid: 1}} }, false},
	} {
		h.cards[0].change(func(o *card) { o.processes, o.drawing = nil, nil; c.change(o) })
		if l := p.Look(id, time.Now()); l.Leftover != c.want {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// A driver in trouble is a reading.
func TestTrouble(t *testing.T) {
	for ret, want := range map[nvml.Return]judge.Trouble{
		nvml.SUCCESS:                 judge.TroubleNone,
		nvml.ERROR_GPU_IS_LOST:       judge.TroubleLost,
		nvml.ERROR_GPU_NOT_FOUND:     judge.TroubleLost,
		nvml.ERROR_RESET_REQUIRED:    judge.TroubleReset,
		nvml.ERROR_UNKNOWN:           judge.TroubleError,
		nvml.ERROR_UNINITIALIZED:     judge.TroubleError,
		nvml.ERROR_TIMEOUT:           judge.TroubleError,
		nvml.ERROR_CORRUPTED_INFOROM: judge.TroubleError,
	} {
		h := newHost(t)
		p := newProbe(h.Server, Options{})
		id := list(t, p)[2].ID
		h.cards[2].change(func(c *card) { c.ret = ret })
		l := p.Look(id, time.Now())
		if l.Trouble != want || (want == judge.TroubleNone) != (l.Detail == "") {
			t.Errorf("%v: %+v", ret, l.Reading)
		}
		if other := p.Look(model.GPUID(h.cards[3].UUID), time.Now()); other.Trouble != judge.TroubleNone {
			t.Errorf("%v: the other GPU: %+v", ret, other.Reading)
		}
	}
}

// Values that a model or a driver does not report are no trouble.
func TestNotSupported(t *testing.T) {
	h := newHost(t)
	p := newProbe(h.Server, Options{})
	id := list(t, p)[0].ID
	h.cards[0].change(func(c *card) { c.ret = nvml.ERROR_NOT_SUPPORTED })
	l := p.Look(id, time.Now())
	if l.Trouble != judge.TroubleNone || l.Recovery != judge.RecoveryUnknown || !l.Point.Unmeasured || l.Leftover {
		t.Errorf("%+v", l)
	}
}

// A GPU that no longer answers is left out of the list, and a look at it reports that.
func TestLostGPU(t *testing.T) {
	h := newHost(t)
	p := newProbe(h.Server, Options{})
	id := list(t, p)[7].ID
	byIndex := h.DeviceGetHandleByIndexFunc
	h.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 7 {
			return nil, nvml.ERROR_GPU_IS_LOST
		}
		return byIndex(i)
	}
	if devices := list(t, p); len(devices) != 7 {
		t.Errorf("%d devices", len(devices))
	}
	if l := p.Look(id, time.Now()); l.Trouble != judge.TroubleLost {
		t.Errorf("%+v", l.Reading)
	}
}

func TestRecovery(t *testing.T) {
	h := newHost(t)
	p := newProbe(h.Server, Options{})
	id := list(t, p)[0].ID
	for action, want := range []judge.Recovery{
		judge.RecoveryNone, judge.RecoveryReset, judge.RecoveryRestart, judge.RecoveryDrainPeers, judge.RecoveryDrain, judge.RecoveryOther,
		judge.RecoveryOther,
	} {
		h.cards[0].change(func(c *card) { c.recovery, c.failed = uint32(action), action > 3 })
		if l := p.Look(id, time.Now()); l.Recovery != want || l.Remap.Failed != (action > 3) {
			t.Errorf("action %d: %+v", action, l.Reading)
		}
	}
	if got := recovery(nvml.FieldValue{NvmlReturn: uint32(nvml.ERROR_NOT_SUPPORTED), ValueType: 1}); got != judge.RecoveryUnknown {
		t.Errorf("unsupported: %d", got)
	}
}

// An Xid reaches the next look at its GPU, once, with the process that the kernel's log blames.
func TestXids(t *testing.T) {
	h := newHost(t)
	pipe := filepath.Join(t.TempDir(), "kmsg")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p := newProbe(h.Server, Options{Kmsg: pipe})
	devices := list(t, p)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Watch(ctx)
	}()
	if _, err := fmt.Fprintf(log, "4,1,2,-;NVRM: Xid (PCI:0000:1c:00): 31, pid=4711, name=python, Ch 00000008\n"); err != nil {
		t.Fatal(err)
	}
	until(t, "the log is read", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.blame) > 0
	})
	h.xid(1, 31)
	h.xid(1, 79)
	h.xid(2, 31)
	var first, second []judge.Xid
	until(t, "the Xids arrive", func() bool {
		first = append(first, p.Look(devices[1].ID, time.Now()).Xids...)
		second = append(second, p.Look(devices[2].ID, time.Now()).Xids...)
		return len(first) == 2 && len(second) == 1
	})
	if first[0] != (judge.Xid{Code: 31, PID: 4711}) || first[1] != (judge.Xid{Code: 79}) || second[0] != (judge.Xid{Code: 31}) {
		t.Errorf("%+v, %+v", first, second)
	}
	if l := p.Look(devices[1].ID, time.Now()); len(l.Xids) != 0 {
		t.Errorf("again: %+v", l.Xids)
	}
	cancel()
	<-done
}

// An error that comes over and over is reported once for each look, and the number of reports is bounded.
func TestManyXids(t *testing.T) {
	h := newHost(t)
	p := newProbe(h.Server, Options{})
	id := list(t, p)[0].ID
	for _, codes := range []uint64{1, 1000} {
		for i := range uint64(500) {
			p.note(nvml.EventData{
				Device: h.cards[0].Device, EventType: nvml.EventTypeXidCriticalError, EventData: i % codes,
				GpuInstanceId: 1<<32 - 1,
			})
		}
		if got := len(p.Look(id, time.Now()).Xids); got != int(min(codes, maxXids)) {
			t.Errorf("%d codes make %d Xids", codes, got)
		}
	}
}

// When listening fails, as it does while a GPU is lost, it starts again.
func TestListenAgain(t *testing.T) {
	h := newHost(t)
	p := newProbe(h.Server, Options{Kmsg: "/nonexistent"})
	id := list(t, p)[0].ID
	sets := 0
	h.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		sets++
		wait := h.wait
		if sets == 1 {
			wait = func(uint32) (nvml.EventData, nvml.Return) { return nvml.EventData{}, nvml.ERROR_GPU_IS_LOST }
		}
		return &mock.EventSet{WaitFunc: wait, FreeFunc: func() nvml.Return { return nvml.SUCCESS }}, nvml.SUCCESS
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Watch(ctx)
	}()
	h.xid(0, 48)
	until(t, "the Xid arrives", func() bool { return len(p.Look(id, time.Now()).Xids) == 1 })
	cancel()
	<-done
}

func TestBlame(t *testing.T) {
	b := blame{}
	for _, line := range []string{
		"NVRM: Xid (PCI:0000:1b:00): 13, pid=17, name=a", "NVRM: Xid (PCI:0001:1b:00.0): 13, pid='18', name=b",
		"NVRM: Xid (PCI:0000:1b:00): 79, pid=<unknown>, name=<unknown>", "NVRM: Xid (PCI:0000:1b:00): 43, pid=99999999999, x",
		"nvidia: Xid", "",
	} {
		b.add(line)
	}
	xids := []judge.Xid{{Code: 13}, {Code: 79}, {Code: 43}}
	b.fill("00000000:1B:00.0", xids)
	if xids[0].PID != 17 || xids[1].PID != 0 || xids[2].PID != 0 {
		t.Errorf("%+v", xids)
	}
	b.fill("00000000:1B:00.0", xids[:1])
	if xids[0].PID != 0 {
		t.Error("a process is blamed for two faults by one line")
	}
	xids = []judge.Xid{{Code: 13}}
	if b.fill("00000001:1B:00.0", xids); xids[0].PID != 18 {
		t.Errorf("%+v", xids)
	}
}

func TestConnect(t *testing.T) {
	for name, c := range map[string]struct {
		in   []wires
		want string
	}{
		"alone":   {[]wires{{pci: "a"}, {pci: "b"}}, ","},
		"switch":  {[]wires{{pci: "a", toHub: true}, {pci: "b"}, {pci: "c", toHub: true}}, "nvswitch-0,,nvswitch-0"},
		"pairs":   {[]wires{{pci: "a", peers: []string{"c"}}, {pci: "b", peers: []string{"d"}}, {pci: "c"}, {pci: "d"}}, "nvlink-0,nvlink-1,nvlink-0,nvlink-1"},
		"a chain": {[]wires{{pci: "c"}, {pci: "b"}, {pci: "a", peers: []string{"b", "c"}}}, "nvlink-0,nvlink-0,nvlink-0"},
		"fabrics": {[]wires{{fabric: "f-1"}, {fabric: "f-2"}, {fabric: "f-1"}}, "f-1,f-2,f-1"},
		"unknown": {[]wires{{pci: "a", peers: []string{"", "x"}}, {pci: ""}}, ","},
	} {
		var all []found
		for _, w := range c.in {
			all = append(all, found{wires: w})
		}
		if got := strings.Join(connect(all), ","); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A whole watch over a host whose driver has eight GPUs: one is bad, seven are not.
func TestMonitor(t *testing.T) {
	h := newHost(t)
	h.cards[5].change(func(c *card) { c.failed = true })
	m, err := gpu.NewMonitor(gpu.Options{Probe: newProbe(h.Server, Options{Kmsg: "/nonexistent"})})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range m.Inventory() {
		if (d.Health == model.HealthHealthy) != (i != 5) || !d.Idle {
			t.Errorf("GPU %d: %+v", i, d)
		}
	}
	if s := m.Samples(); len(s) != 8 || s[0].Utilization != 97 || s[0].PowerWatts != 512 {
		t.Errorf("%+v", s)
	}
}
