package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// unsquashfs is the program that unpacks squashfs files.
const unsquashfs = "unsquashfs"

// exitPartly is the exit code with which unsquashfs has unpacked all but what it has no right to make, such as devices.
const exitPartly = 2

// isSquashfs reports whether a file begins as a squashfs file does.
func isSquashfs(head []byte) bool { return bytes.HasPrefix(head, []byte("hsqs")) }

// unsquash unpacks a squashfs file into a folder that does not exist yet.
func unsquash(ctx context.Context, file, folder string) error {
	program, err := exec.LookPath(unsquashfs)
	if err != nil {
		return failed(Local, "install the package squashfs-tools on the node", "a squashfs file needs the program %s, which is not installed", unsquashfs)
	}
	cmd := exec.CommandContext(ctx, program, "-no-progress", "-no-xattrs", "-d", folder, file) //nolint:gosec // a fixed program; the file begins with a slash
	var says bytes.Buffer
	cmd.Stderr = &says
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the signal comes when the thread ends that started the program
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	exit, failedRun := errors.AsType[*exec.ExitError](err)
	if err == nil || failedRun && exit.ExitCode() == exitPartly {
		return nil
	}
	words := limited(strings.ToValidUTF8(strings.TrimSpace(says.String()), "?"))
	switch {
	case strings.Contains(words, syscall.ENOSPC.Error()), strings.Contains(words, "disk space?"), strings.Contains(words, syscall.EDQUOT.Error()):
		return failed(Full, remedyDisk, "the disk is full: %s", words)
	case failedRun && exit.Exited():
		return failed(BadFile, "make the file again, as by enroot import or mksquashfs", "%s cannot unpack the file: %s", unsquashfs, words)
	}
	return failed(Local, "try again", "%s failed: %s", unsquashfs, plain(err))
}

// tame gives a tree that another program has unpacked the rights of one that this package unpacks: it belongs to this
// user, can be changed and removed by its owner, and has neither devices nor setuid bits. It returns the bytes of all files.
func tame(root *os.Root, at string) (int64, error) {
	info, err := root.Lstat(at)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if uid, gid := os.Geteuid(), os.Getegid(); int(stat.Uid) != uid || int(stat.Gid) != gid {
		if err := root.Lchown(at, uid, gid); err != nil {
			return 0, err
		}
	}
	mode := info.Mode().Perm() | info.Mode()&fs.ModeSticky
	switch {
	case info.Mode()&fs.ModeDevice != 0:
		return 0, root.Remove(at)
	case info.IsDir():
		if err := root.Chmod(at, mode|0o700); err != nil {
			return 0, err
		}
		return tameBelow(root, at)
	case info.Mode().IsRegular():
		return info.Size(), root.Chmod(at, mode|0o400)
	}
	return 0, nil
}

func tameBelow(root *os.Root, at string) (int64, error) {
	f, err := root.Open(at)
	if err != nil {
		return 0, err
	}
	names, err := f.Readdirnames(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range names {
		n, err := tame(root, filepath.Join(at, name))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// The files by which enroot keeps what docker's images say in their configuration.
const (
	enrootEnvironment = "etc/environment" // lines NAME=VALUE
	enrootCommand     = "etc/rc"          // a script that begins the container, with the command as its arguments
)

// ofRoot returns what a root of enroot says about its processes: the variables in /etc/environment, and /etc/rc as the
// entry point if that file has content.
func ofRoot(folder string) (Config, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Config{}, err
	}
	defer func() { _ = root.Close() }()
	var c Config
	text, err := readIn(root, enrootEnvironment)
	if err != nil {
		return Config{}, err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, is := strings.Cut(line, "=")
		if !is || name == "" || strings.HasPrefix(line, "#") || strings.ContainsAny(name, " \t") {
			continue
		}
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' { // as the system's own file of this name
			value = value[1 : n-1]
		}
		c.Env = append(c.Env, name+"="+value)
	}
	if text, err = readIn(root, enrootCommand); err != nil {
		return Config{}, err
	}
	if strings.TrimSpace(text) != "" {
		c.Entrypoint = []string{"/" + enrootCommand}
	}
	return c, nil
}

// readIn returns the begin of a file of a root, up to 1 MiB; "" if there is no such regular file in it.
func readIn(root *os.Root, path string) (string, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", nil //nolint:nilerr // not there, without the right to read it, or a link that leaves the root: the root says nothing
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(text), err
}
