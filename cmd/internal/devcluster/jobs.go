package devcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long jobs may take to end after a request.
const patience = 10 * time.Second

// StopJobs ends the jobs that the cluster's agents have left running under their supervisors: first
// by a request, and by SIGKILL if they do not end in time. A supervisor that is asked to end
// records that its rank was cut off, so that the cluster runs the job again once it is back.
func (c *Cluster) StopJobs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	asked := map[int]bool{}
	for {
		left := c.supervisors()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			if !asked[pid] {
				asked[pid] = true
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			c.killJobs(left)
			return
		}
	}
}

// killJobs kills the processes below supervisors, which then record the end.
func (c *Cluster) killJobs(supervisors []int) {
	for _, pid := range supervisors {
		for _, child := range children(pid) {
			_ = syscall.Kill(-child, syscall.SIGKILL)
		}
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end) && len(c.supervisors()) > 0; {
		time.Sleep(20 * time.Millisecond)
	}
	for _, pid := range c.supervisors() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// supervisors returns the supervisors of ranks below the data folder.
func (c *Cluster) supervisors() (out []int) {
	for _, pid := range processes() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		words := bytes.Split(line, []byte{0})
		if len(words) > 2 && string(words[1]) == "supervise" && strings.HasPrefix(string(words[2]), c.conf.Data+"/") {
			out = append(out, pid)
		}
	}
	return out
}

func processes() (out []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// children returns the processes that a process has started or inherited.
func children(parent int) (out []int) {
	for _, pid := range processes() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			out = append(out, pid)
		}
	}
	return out
}

// Folder returns the data folder of the cluster.
func (c *Cluster) Folder() string { return c.conf.Data }
