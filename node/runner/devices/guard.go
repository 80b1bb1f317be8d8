package devices

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Guard keeps groups from devices. It may be used by several goroutines.
type Guard struct{ Kernel Kernel }

// Possible returns why no group below this one can be kept from devices; nil: it is possible.
func (Guard) Possible(group string) error {
	return with(group, nil, func(dir int, p *ebpf.Program) error {
		if err := attach(dir, p); err != nil {
			return err
		}
		return link.RawDetachProgram(link.RawDetachProgramOptions{Target: dir, Program: p, Attach: ebpf.AttachCGroupDevice})
	})
}

// Confine keeps a group, and all below it, from GPUs other than those of these UUIDs, for as long as the
// group exists. Where [Kernel.Rules] has no rules, it does nothing.
func (g Guard) Confine(group string, uuids []string) error {
	rules, err := g.Kernel.Rules(uuids)
	if err != nil || len(rules) == 0 {
		return err
	}
	return with(group, rules, attach)
}

// attach attaches a program to a group, in addition to those of the groups above.
func attach(dir int, p *ebpf.Program) error {
	return link.RawAttachProgram(link.RawAttachProgramOptions{
		Target: dir, Program: p, Attach: ebpf.AttachCGroupDevice, Flags: unix.BPF_F_ALLOW_MULTI,
	})
}

// with runs do with the program of rules and a group's folder.
func with(group string, rules []Rule, do func(dir int, p *ebpf.Program) error) (err error) {
	dir, err := os.Open(group) //nolint:gosec // the rank's
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "berth_devices", Type: ebpf.CGroupDevice, AttachType: ebpf.AttachCGroupDevice, Instructions: Program(rules), License: "Apache-2.0",
	})
	if err != nil {
		return fmt.Errorf("loading a program for devices: %w", err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return do(int(dir.Fd()), p)
}
