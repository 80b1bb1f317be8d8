//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/judge"
)

// libraryVariable names the library to a child of this test.
const libraryVariable = "BERTH_TEST_NVML_LIBRARY"

// A process keeps the first library that it has loaded, so this test of a library of
// its own is a child.
func TestLibrary(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc, to make a library")
	}
	dir := t.TempDir()
	library, mode := filepath.Join(dir, "libnvidia-ml.so.1"), filepath.Join(dir, "mode")
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", library, "testdata/driver.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestLibraryChild$", "-test.v")
	cmd.Env = append(os.Environ(), libraryVariable+"="+library, "DRIVER_MODE="+mode)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestLibraryChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

// An old library whose driver comes late, loses a GPU and hangs.
func TestLibraryChild(t *testing.T) {
	library := os.Getenv(libraryVariable)
	if library == "" {
		t.Skip("needs to be a child of TestLibrary")
	}
	mode := func(word string) {
		if err := os.WriteFile(os.Getenv("DRIVER_MODE"), []byte(word), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := New(Options{Library: library, Kmsg: "/nonexistent"})
	mode("unloaded")
	if _, err := p.List(); err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "not loaded") {
		t.Fatalf("without a driver: %v", err)
	}
	if l := p.Look("GPU-0", time.Now()); l.Trouble != judge.TroubleError {
		t.Errorf("without a driver: %+v", l.Reading)
	}
	mode("ok")
	devices := list(t, p)
	if len(devices) != 2 || devices[1].ID != "GPU-1" || devices[1].Model != "Some GPU" || devices[1].MemoryMB != 16384 {
		t.Fatalf("%+v", devices)
	}
	l := p.Look("GPU-1", time.Now())
	want := gpu.Point{Utilization: 12, MemoryBusy: 3, Temperature: 55, MemoryUsedMB: 1024, PowerWatts: 70, ClockMHz: 1500, MemoryMHz: 5000}
	if l.Point != want || l.Trouble != judge.TroubleNone || l.Leftover {
		t.Errorf("%+v", l)
	}
	mode("lost")
	if l := p.Look("GPU-1", time.Now()); l.Trouble != judge.TroubleLost || !strings.Contains(l.Detail, "lost") {
		t.Errorf("lost: %+v", l.Reading)
	}
	mode("hang")
	ctx, cancel := context.WithCancel(context.Background())
	watched, seen := make(chan struct{}), make(chan gpu.Look)
	go func() {
		defer close(watched)
		p.Watch(ctx)
	}()
	go func() { seen <- p.Look("GPU-1", time.Now()) }()
	if l := p.Look("GPU-0", time.Now()); l.Trouble != judge.TroubleNone {
		t.Errorf("with another GPU hanging: %+v", l.Reading)
	}
	select {
	case l := <-seen:
		t.Errorf("it hangs, and yet: %+v", l.Reading)
	default:
	}
	mode("ok")
	if l := <-seen; l.Trouble != judge.TroubleNone {
		t.Errorf("in the end: %+v", l.Reading)
	}
	cancel()
	<-watched
}

// A missing driver is reported, and nothing else happens.
func TestNoDriver(t *testing.T) {
	p := New(Options{Library: filepath.Join(t.TempDir(), "libnvidia-ml.so.1")})
	if _, err := p.List(); !errors.Is(err, ErrMissing) {
		t.Errorf("%v", err)
	}
}
