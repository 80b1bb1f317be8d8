package gpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// A fault outlives the agent; a restart of the host puts the GPU on probation.
func TestFaultsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "gpus.json")
		d := newDriver("a", "b")
		_, stop := watch(t, Options{Probe: d, File: file, Boot: "1"})
		d.bend(func(d *driver) { d.looks["a"] = Look{Reading: judge.Reading{Xids: []judge.Xid{{Code: 79}}}} })
		time.Sleep(time.Minute)
		stop()
		for _, boot := range []string{"1", "2", "2"} {
			m, stop := watch(t, Options{Probe: d, File: file, Boot: boot})
			if got := healths(m); got != "a quarantined, b healthy" {
				t.Errorf("at once: %s", got)
			}
			time.Sleep(9 * time.Minute)
			stop()
		}
		m, stop := watch(t, Options{Probe: d, File: file, Boot: "3"})
		time.Sleep(11 * time.Minute)
		if got := healths(m); got != "a healthy, b healthy" {
			t.Errorf("when its probation is over: %s", got)
		}
		stop()
	})
}

// An agent that starts while the driver is away lists the former GPUs, and does not call them gone; after a
// restart of the host it lists none.
func TestDriverAwayAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "gpus.json")
		d := newDriver("a", "b")
		_, stop := watch(t, Options{Probe: d, File: file, Boot: "1"})
		stop()
		d.bend(func(d *driver) {
			d.err = errors.New("the driver is away")
			for id := range d.looks {
				d.looks[id] = Look{Reading: judge.Reading{Trouble: judge.TroubleError}}
			}
		})
		m, stop := watch(t, Options{Probe: d, File: file, Boot: "1"})
		if got := healths(m); got != "a healthy, b healthy" {
			t.Errorf("at once: %s", got)
		}
		time.Sleep(2 * time.Minute)
		if got := healths(m); got != "a quarantined, b quarantined" {
			t.Errorf("later: %s", got)
		}
		stop()
		m, stop = watch(t, Options{Probe: d, File: file, Boot: "2"})
		if got := healths(m); got != "" {
			t.Errorf("after a restart of the host: %s", got)
		}
		d.bend(func(d *driver) { d.err, d.looks = nil, map[model.GPUID]Look{} })
		time.Sleep(2 * time.Minute)
		if got := healths(m); got != "a healthy, b healthy" {
			t.Errorf("when the driver is back: %s", got)
		}
		stop()
	})
}

// A search for GPUs that hangs keeps the start waiting for a while only.
func TestListHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a")
		hang := make(chan struct{})
		d.hangs["list"] = hang
		began := time.Now()
		m, stop := watch(t, Options{Probe: d})
		if waited := time.Since(began); waited > patience || healths(m) != "" {
			t.Errorf("after %s: %s", waited, healths(m))
		}
		d.bend(func(d *driver) { delete(d.hangs, "list") })
		close(hang)
		<-m.Changed()
		if got := healths(m); got != "a healthy" {
			t.Error(got)
		}
		stop()
	})
}

// A GPU that is no longer listed stays, so that its looks report it as lost; one that was divided is replaced
// by its parts, and they by it.
func TestListChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver("a", "b")
		m, stop := watch(t, Options{Probe: d})
		whole := d.devices
		d.bend(func(d *driver) {
			d.devices = []model.Device{{ID: "MIG-1", PCI: "pci-b", Index: 1}, {ID: "MIG-2", PCI: "pci-b", Index: 1}}
			d.looks["a"] = Look{Reading: judge.Reading{Trouble: judge.TroubleLost}}
		})
		time.Sleep(2 * time.Minute)
		if got := healths(m); got != "a quarantined, MIG-1 healthy, MIG-2 healthy" {
			t.Error(got)
		}
		d.bend(func(d *driver) { d.devices = whole[1:] })
		time.Sleep(2 * time.Minute)
		if got := healths(m); got != "a quarantined, b healthy" {
			t.Error(got)
		}
		stop()
	})
}

// What a node cannot have is left out, so that the cluster does not refuse the rest.
func TestTooManyGPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver()
		for i := range model.MaxDevices + 6 {
			d.devices = append(d.devices, model.Device{ID: model.GPUID(fmt.Sprint("MIG-", i)), Index: uint32(i)})
		}
		m, err := NewMonitor(Options{Probe: d})
		if err != nil {
			t.Fatal(err)
		}
		if all := m.Inventory(); len(all) != model.MaxDevices || all[len(all)-1].Index != model.MaxDevices-1 {
			t.Errorf("%d devices", len(all))
		}
	})
}

// What is kept is never half a file, and a damaged one costs no start.
func TestKeep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gpus.json")
	if err := os.WriteFile(file, []byte(`{"boot": "1", "gpus": [{"dev`), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := NewMonitor(Options{Probe: newDriver("a"), File: file, Boot: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := healths(m); got != "a healthy" {
		t.Error(got)
	}
	var k kept
	err = smallfile.Read(file, &k)
	if err != nil || k.Boot != "1" || len(k.GPUs) != 1 || k.GPUs[0].Device.ID != "a" {
		t.Errorf("%+v, %v", k, err)
	}
	if _, err := NewMonitor(Options{Probe: newDriver(), Judge: judge.Config{Settle: 1}}); err == nil {
		t.Error("a configuration that makes no sense")
	}
}
