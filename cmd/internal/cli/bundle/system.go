package bundle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// systemParts returns facts about this machine.
func systemParts() []Part {
	return []Part{
		{Name: "system/kernel.txt", What: "kernel, host and distribution", Collect: kernel},
		{Name: "system/mounts.txt", What: "mounted file systems", Collect: reading("/proc/self/mountinfo")},
		{Name: "system/memory.txt", What: "memory", Collect: reading("/proc/meminfo")},
		{Name: "system/load.txt", What: "load, and pressure on processors, memory and disks", Collect: reading("/proc/loadavg", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/uptime")},
		{Name: "system/disks.txt", What: "block devices", Collect: disks},
		{Name: "system/network.txt", What: "network cards and their addresses", Collect: network},
		{Name: "system/cgroups.txt", What: "control groups: controllers, and the groups of jobs", Collect: groups},
		{Name: "system/limits.txt", What: "limits of the kernel", Collect: reading(
			"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/proc/sys/fs/file-max", "/proc/sys/fs/inotify/max_user_instances",
			"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/vm/overcommit_memory", "/proc/sys/net/core/somaxconn")},
	}
}

// reading returns what collects files. Those that are not there are named.
func reading(paths ...string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		var out strings.Builder
		var failed []error
		for _, p := range paths {
			text, err := os.ReadFile(p) //nolint:gosec // the kernel's
			if err != nil {
				failed = append(failed, err)
				fmt.Fprintf(&out, "== %s: %v\n", p, err)
				continue
			}
			fmt.Fprintf(&out, "== %s\n%s\n", p, strings.TrimRight(string(text), "\n"))
		}
		if len(failed) == len(paths) {
			return "", errors.Join(failed...)
		}
		return out.String(), nil
	}
}

func kernel(ctx context.Context) (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", err
	}
	text := ""
	for _, field := range [][]byte{u.Sysname[:], u.Nodename[:], u.Release[:], u.Version[:], u.Machine[:]} {
		text += unix.ByteSliceToString(field) + "\n"
	}
	more, err := reading("/etc/os-release")(ctx)
	if err != nil {
		more = err.Error() + "\n"
	}
	return text + more, nil
}

// disks lists block devices, as lsblk does.
func disks(context.Context) (string, error) {
	list, err := filepath.Glob("/sys/block/*")
	if err != nil || len(list) == 0 {
		return "", errors.Join(errors.New("no block device is shown in /sys/block"), err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%-16s %14s %-10s %-9s %s\n", "DEVICE", "SECTORS", "ROTATIONAL", "SCHEDULER", "MODEL")
	for _, d := range list {
		value := func(name string) string {
			text, _ := os.ReadFile(filepath.Join(d, name)) //nolint:gosec // the kernel's; without it nothing is shown
			return strings.TrimSpace(string(text))
		}
		fmt.Fprintf(&out, "%-16s %14s %-10s %-9s %s\n", filepath.Base(d), value("size"), value("queue/rotational"), value("queue/scheduler"), value("device/model"))
	}
	return out.String(), nil
}

func network(context.Context) (string, error) {
	list, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, v := range list {
		fmt.Fprintf(&out, "%s mtu %d %s", v.Name, v.MTU, v.Flags)
		addresses, err := v.Addrs()
		if err != nil {
			fmt.Fprintf(&out, " %v", err)
		}
		for _, a := range addresses {
			fmt.Fprintf(&out, " %s", a)
		}
		out.WriteString("\n")
	}
	return out.String(), nil
}

// shownGroups are the files of a group that are collected.
var shownGroups = []string{"cgroup.controllers", "cgroup.subtree_control", "cgroup.stat", "cpu.max", "memory.max", "memory.current", "pids.max", "pids.current"}

// mostGroups bounds the groups that are listed.
const mostGroups = 200

// groups lists the root of the control groups, the units of Berth, and the groups below these.
func groups(context.Context) (string, error) {
	const root = "/sys/fs/cgroup"
	dirs := []string{root}
	for _, pattern := range []string{"/*/berth-*.service", "/*/berth-jobs.service/*", "/*/berth-jobs.service/*/*", "/berth-*"} {
		found, _ := filepath.Glob(root + pattern) // the patterns are right
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	var out strings.Builder
	for _, d := range dirs[:min(len(dirs), mostGroups)] {
		fmt.Fprintf(&out, "== %s\n", d)
		for _, name := range shownGroups {
			if text, err := os.ReadFile(filepath.Join(d, name)); err == nil { //nolint:gosec // the kernel's
				fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(strings.Fields(string(text)), " "))
			}
		}
	}
	return out.String(), nil
}
