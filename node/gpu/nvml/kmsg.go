//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-gpu/berth/node/gpu/judge"
)

// blame holds the process that the kernel's log has named with a fault, by the GPU's PCI address and the
// code.
type blame map[string]map[uint64]int32

// fill adds the blamed processes to the Xids of a GPU, once.
func (b blame) fill(pci string, xids []judge.Xid) {
	named := b[bus(pci)]
	for i := range xids {
		xids[i].PID = named[xids[i].Code]
		delete(named, xids[i].Code)
	}
}

// add parses a line of the log.
func (b blame) add(line string) {
	m := xidLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	code, err := strconv.ParseUint(m[2], 10, 32)
	pid, pidErr := strconv.ParseInt(m[3], 10, 32)
	if err != nil || pidErr != nil {
		return
	}
	at := bus(m[1])
	if b[at] == nil || len(b[at]) > maxXids {
		b[at] = map[uint64]int32{}
	}
	b[at][code] = int32(pid)
}

// xidLine matches the driver's message about a process's fault.
var xidLine = regexp.MustCompile(`NVRM: Xid \(PCI:([0-9A-Fa-f:.]{7,20})\): (\d+), pid='?(\d+)`)

// bus returns a PCI address without the parts that tools write differently: the domain's leading zeros, the
// function, and case.
func bus(pci string) string {
	pci, _, _ = strings.Cut(strings.ToLower(pci), ".")
	return strings.TrimLeft(pci, "0")
}

// follow reads the kernel's log from now on, if this user may.
func (p *Probe) follow(ctx context.Context) {
	f, err := os.OpenFile(p.options.Kmsg, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	defer stop()
	if _, err := f.Seek(0, io.SeekEnd); err != nil && !errors.Is(err, syscall.ESPIPE) {
		return
	}
	record := make([]byte, 8<<10) // the kernel's own limit
	for {
		n, err := f.Read(record)
		if errors.Is(err, syscall.EPIPE) {
			continue // records were overwritten before they were read
		}
		if err != nil {
			return
		}
		p.mu.Lock()
		for line := range strings.Lines(string(record[:n])) {
			p.blame.add(line)
		}
		p.mu.Unlock()
	}
}
