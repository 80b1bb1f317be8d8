package inspect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/gpu/nvml"
	"github.com/berth-gpu/berth/node/runner/cgroup"
)

// driverLimit bounds the wait for a driver: one that hangs never answers.
const driverLimit = 15 * time.Second

// driverSource returns the driver of a node without real GPUs; nil: its GPUs are real.
func (m *member) driverSource() *doctor.Driver {
	g := &m.settings.Agent.GPUs
	if n, is := strings.CutPrefix(g.From, "sim:"); is {
		many, _ := strconv.Atoi(n) // wrong settings are another finding
		return &doctor.Driver{Simulated: many}
	}
	if g.Simulate > 0 || g.From == "none" {
		return &doctor.Driver{Simulated: g.Simulate, None: g.From == "none"}
	}
	return nil
}

// driver returns what there is to know of the GPUs of a node.
func (m *member) driver() *doctor.Driver {
	if d := m.driverSource(); d != nil {
		return d
	}
	about, err := Driver()
	if err != nil {
		return &doctor.Driver{Err: err}
	}
	out := &doctor.Driver{Version: about.Driver}
	for _, c := range about.Cards {
		card := doctor.Card{ID: c.ID, Model: c.Model, Persistence: doctor.Mode(c.Persistence), ECC: doctor.Mode(c.ECC), Err: c.Err}
		for _, p := range c.Processes {
			if !ofJob(int(p.PID), parentOf) {
				card.Strangers = append(card.Strangers, stranger(&p))
			}
		}
		out.Cards = append(out.Cards, card)
	}
	return out
}

// Driver describes the driver of GPUs and the GPUs of this machine.
func Driver() (*nvml.About, error) {
	type result struct {
		about *nvml.About
		err   error
	}
	done := make(chan result, 1)
	go func() {
		about, err := nvml.New(nvml.Options{}).About()
		done <- result{about, err}
	}()
	select {
	case r := <-done:
		return r.about, r.err
	case <-time.After(driverLimit):
		return nil, errors.New("the driver does not answer: look for Xid lines in dmesg, and restart the host")
	}
}

func stranger(p *gpu.Process) string { return fmt.Sprintf("%s (pid %d, %s)", p.Name, p.PID, p.User) }

// ofJob reports whether a process belongs to a job: its control group is below that of jobs, or one of the processes above it is a
// supervisor.
func ofJob(pid int, parent func(pid int) (up int, group, command string)) bool {
	for depth := 0; pid > 1 && depth < 64; depth++ {
		up, group, command := parent(pid)
		program, _, _ := strings.Cut(command, " ")
		if strings.Contains(group, "/"+cgroup.JobsUnit+"/") || filepath.Base(program) == "berth-supervisor" || strings.HasSuffix(command, " supervise") {
			return true
		}
		pid = up
	}
	return false
}

// parentOf returns the parent of a process, its control group, and the first two words of its command line.
func parentOf(pid int) (up int, group, command string) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, _ := os.ReadFile(filepath.Join(dir, "status")) //nolint:gosec // the kernel's; without it the process has ended
	for line := range strings.Lines(string(status)) {
		if text, is := strings.CutPrefix(line, "PPid:"); is {
			up, _ = strconv.Atoi(strings.TrimSpace(text))
		}
	}
	groups, _ := os.ReadFile(filepath.Join(dir, "cgroup")) //nolint:gosec // likewise
	line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))  //nolint:gosec // likewise
	args := strings.Split(string(line), "\x00")
	return up, string(groups), strings.Join(args[:min(2, len(args))], " ")
}
