package raftstore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

const (
	probeRounds = 100
	probeBytes  = 4096
)

// ProbeFsync measures how long dir's disk takes to store 4 KiB: the median of 100 writes, each followed by
// fdatasync. fsType names the file system (ext4, xfs, btrfs, tmpfs, overlay, ...; an unknown one by its
// number in hex). Benchmarks print both, and refuse tmpfs, where fsync costs nothing and stores nothing.
func ProbeFsync(dir string) (p50 time.Duration, fsType string, err error) {
	if fsType, err = fileSystem(dir); err != nil {
		return 0, "", err
	}
	f, err := os.CreateTemp(dir, "fsync-probe-*")
	if err != nil {
		return 0, fsType, fmt.Errorf("measure fsync in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()

	times := make([]time.Duration, probeRounds)
	block := make([]byte, probeBytes)
	for i := range times {
		start := time.Now()
		if _, err := f.WriteAt(block, int64(i)*probeBytes); err != nil {
			return 0, fsType, fmt.Errorf("measure fsync in %s: %w", dir, err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, fsType, fmt.Errorf("measure fsync in %s: %w", dir, err)
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[len(times)/2], fsType, nil
}

// magics are the numbers by which statfs names the file systems of Linux.
var magics = map[uint64]string{
	0xef53:     "ext4",
	0x58465342: "xfs",
	0x9123683e: "btrfs",
	0x2fc12fc1: "zfs",
	0xf2f52010: "f2fs",
	0x794c7630: "overlay",
	0x01021994: "tmpfs",
	0x858458f6: "ramfs",
	0x65735546: "fuse",
	0x6969:     "nfs",
	0xff534d42: "cifs",
	0x01021997: "9p",
	0x00c36400: "ceph",
	0x0bd00bd0: "lustre",
}

// fileSystem names the kind of file system that dir is on.
func fileSystem(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("name the file system of %s: %w", dir, err)
	}
	magic := uint64(st.Type) & 0xffffffff
	if name, ok := magics[magic]; ok {
		return name, nil
	}
	return fmt.Sprintf("0x%x", magic), nil
}
