package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
)

// Times of the measurement of an idle cluster.
const (
	idleSettles = 10 * time.Second // after its start
	idleFor     = 30 * time.Second
)

// listed is a process of a cluster of berth dev, as its file cluster.json lists it.
type listed struct {
	Role string `json:"role"` // server or agent
	PID  int    `json:"pid"`
}

// measureIdle measures the processor time of three peers and two agents without jobs, as a share of one core.
func measureIdle(ctx context.Context, program, dir string) (_ *figures.Table, err error) {
	data, err := os.MkdirTemp(dir, "idle-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, program, "dev", "--data", data, "--http", address, "--peers", "3", "--nodes", "2", "--gpus", "8") //nolint:gosec // the program that is measured
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
	c.WaitDelay = 30 * time.Second
	said, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = c.Process.Signal(syscall.SIGINT)
		_, _ = io.Copy(io.Discard, said)
		_ = c.Wait() // the exit code of a cluster that was stopped does not matter
	}()
	for lines := bufio.NewScanner(said); ; {
		if !lines.Scan() {
			return nil, errors.New("berth dev ended before it was ready")
		}
		if strings.HasPrefix(lines.Text(), "Ctrl-C ends") {
			break
		}
	}
	return idleShares(ctx, filepath.Join(data, "cluster.json"))
}

// idleShares measures the processes that a file lists.
func idleShares(ctx context.Context, file string) (*figures.Table, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var children []listed
	if err := json.Unmarshal(text, &children); err != nil {
		return nil, err
	}
	if err := wait(ctx, idleSettles); err != nil {
		return nil, err
	}
	used := func() (by map[string]time.Duration) {
		by = map[string]time.Duration{}
		for _, m := range children {
			by[m.Role] += usedBy(m.PID)
		}
		return by
	}
	before, began := used(), time.Now()
	if err := wait(ctx, idleFor); err != nil {
		return nil, err
	}
	after, took := used(), time.Since(began)
	share := func(role string) string {
		n := 0
		for _, m := range children {
			if m.Role == role {
				n++
			}
		}
		return fmt.Sprintf("%.3f %%", 100*float64(after[role]-before[role])/float64(took)/float64(max(n, 1)))
	}
	t := &figures.Table{Title: "Idle", Head: []string{"a peer", "an agent"}}
	t.Add(share("server"), share("agent"))
	return t, nil
}

// wait waits for a time, or for the end of the context.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// usedBy returns the processor time that a process has used, to a nanosecond: /proc/PID/stat counts hundredths of a second, which
// is too coarse for an idle one. 0: it has ended.
func usedBy(pid int) (total time.Duration) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		total += time.Duration(ns)
	}
	return total
}
