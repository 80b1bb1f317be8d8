//go:build linux && cgo

package nvml

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// card is a GPU of a mock server, with everything filled in that a probe asks for.
type card struct {
	*server.Device

	mu        sync.Mutex
	ret       nvml.Return // of all calls; SUCCESS: they work
	processes []nvml.ProcessInfo
	drawing   []nvml.ProcessInfo
	used      uint64
	recovery  uint32
	failed    bool
	parts     []nvml.Device
}

// change bends it.
func (c *card) change(f func(*card)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

func (c *card) result() nvml.Return {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ret
}

// host is a mock server with eight of them.
type host struct {
	*server.Server

	cards  []*card
	events chan nvml.EventData
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{Server: dgxh100.New(), events: make(chan nvml.EventData, 100)}
	for i, d := range h.Devices {
		device, is := d.(*server.Device)
		if !is {
			t.Fatalf("device %d of the mock is a %T", i, d)
		}
		c := &card{Device: device, used: 1 << 20}
		c.fill(i)
		h.cards = append(h.cards, c)
	}
	h.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		return &mock.EventSet{WaitFunc: h.wait, FreeFunc: func() nvml.Return { return nvml.SUCCESS }}, nvml.SUCCESS
	}
	return h
}

func (h *host) wait(uint32) (nvml.EventData, nvml.Return) {
	select {
	case e := <-h.events:
		return e, nvml.SUCCESS
	case <-time.After(10 * time.Millisecond):
		return nvml.EventData{}, nvml.ERROR_TIMEOUT
	}
}

// xid has a GPU report one.
func (h *host) xid(i int, code uint64) {
	h.events <- nvml.EventData{Device: h.cards[i].Device, EventType: nvml.EventTypeXidCriticalError, EventData: code, GpuInstanceId: 1<<32 - 1}
}

func address(i int) string { return fmt.Sprintf("00000000:%02X:00.0", 0x1b+i) }

func chars(s string) (out [32]int8) {
	for i := range s {
		out[i] = int8(s[i])
	}
	return out
}

// fill fills in what the mock leaves open: every card is wired to a switch.
func (c *card) fill(i int) {
	d := c.Device
	d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{BusId: chars(address(i))}, nvml.SUCCESS }
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 97, Memory: 41}, c.result() }
	d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 61, c.result() }
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 512_345, c.result() }
	d.GetClockInfoFunc = func(k nvml.ClockType) (uint32, nvml.Return) {
		return map[nvml.ClockType]uint32{nvml.CLOCK_SM: 1980, nvml.CLOCK_MEM: 2619}[k], c.result()
	}
	d.GetTotalEccErrorsFunc = func(k nvml.MemoryErrorType, _ nvml.EccCounterType) (uint64, nvml.Return) {
		return map[nvml.MemoryErrorType]uint64{nvml.MEMORY_ERROR_TYPE_CORRECTED: 5}[k], c.result()
	}
	d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return 0, 0, false, c.failed, c.ret
	}
	d.GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return {
		c.mu.Lock()
		defer c.mu.Unlock()
		v[0].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_INT)
		binary.NativeEndian.PutUint32(v[0].Value[:], c.recovery)
		return c.ret
	}
	d.RegisterEventsFunc = func(uint64, nvml.EventSet) nvml.Return { return nvml.SUCCESS }
	c.fillUse(d)
	c.fillWires(d)
}

func (c *card) fillUse(d *server.Device) {
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return nvml.Memory_v2{Used: c.used, Total: d.MemoryInfo.Total}, c.ret
	}
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.processes, c.ret
	}
	d.GetGraphicsRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.drawing, c.ret
	}
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if i >= len(c.parts) || c.parts[i] == nil {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return c.parts[i], nvml.SUCCESS
	}
}

func (c *card) fillWires(d *server.Device) {
	d.GetGpuFabricInfoFunc = func() (nvml.GpuFabricInfo, nvml.Return) { return nvml.GpuFabricInfo{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetNvLinkStateFunc = func(i int) (nvml.EnableState, nvml.Return) {
		if i >= 18 {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return nvml.FEATURE_ENABLED, nvml.SUCCESS
	}
	d.GetNvLinkRemoteDeviceTypeFunc = func(int) (nvml.IntNvLinkDeviceType, nvml.Return) {
		return nvml.NVLINK_DEVICE_TYPE_SWITCH, nvml.SUCCESS
	}
}

// part returns a part of a divided GPU, with a process of its own.
func part(id string, instance int) nvml.Device {
	return &mock.Device{
		GetUUIDFunc:          func() (string, nvml.Return) { return id, nvml.SUCCESS },
		GetNameFunc:          func() (string, nvml.Return) { return "NVIDIA H100 MIG 1g.10gb", nvml.SUCCESS },
		GetMemoryInfoFunc:    func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 10 << 30}, nvml.SUCCESS },
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{Used: 3 << 30}, nvml.SUCCESS },
		GetGpuInstanceIdFunc: func() (int, nvml.Return) { return instance, nvml.SUCCESS },
		GetComputeRunningProcessesFunc: func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: uint32(os.Getpid()), UsedGpuMemory: 2 << 30}}, nvml.SUCCESS
		},
	}
}
