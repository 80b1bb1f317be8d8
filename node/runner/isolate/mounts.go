package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// View is what a job sees of the file system, in addition to what is there anyway. No path in it may lead
// through a folder that the job's user can change.
type View struct {
	Tmp     string   // folder that is /tmp for the job
	Hide    []string // folders that it does not see
	Peers   []Folder // folders of peers, the same
	Keep    []string // folders that it sees all the same
	Script  string   // path of a file that it sees, with the content Text; empty: none
	Text    []byte
	Devices []string // of GPUs that are not its own
}

// mount arranges the view, in the mount namespace of this process.
func (v *View) mount() error {
	kept := make([]*os.File, 0, len(v.Keep))
	for _, path := range v.Keep {
		f, err := hold(path)
		if err != nil {
			return err
		}
		kept = append(kept, f) // closed when the job begins
	}
	if err := v.private(); err != nil {
		return err
	}
	for _, path := range v.Hide {
		err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0711,size=4m")
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("covering %s: %w", path, err)
		}
	}
	for _, f := range v.Peers {
		if err := f.cover(); err != nil {
			return fmt.Errorf("covering %s: %w", f.Path, err)
		}
	}
	if err := v.show(kept); err != nil {
		return err
	}
	for _, path := range v.Devices {
		if err := unix.Mount(os.DevNull, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("covering %s: %w", path, err)
		}
	}
	return nil
}

// hide has /proc show the processes of the job's account only, with their command lines; root sees all processes anyway.
// Where the host refuses that, /proc stays as it is, and the agent says so ([ShowsOthers]).
func (p *Plan) hide() error {
	if p.Account.UID == 0 {
		return nil
	}
	if err := hideOthers(); err != nil && !refused(err) {
		return fmt.Errorf("hiding the processes of others: %w", err)
	}
	return nil
}

// hideOthers mounts a /proc without processes of other accounts, in the mount namespace of this thread.
func hideOthers() error {
	return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=invisible")
}

// refused reports whether an error of hideOthers is one of a host that does not allow the mount: Linux takes this option
// for one mount since 5.8, and an older kernel, which would hide the processes of the whole host, refuses this spelling
// (EINVAL); a container may not mount /proc, such as one that covers parts of it (EPERM), or not by the rules of its
// security module (EACCES).
func refused(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)
}

// ShowsOthers returns why jobs under accounts see the processes of others on this host; nil: they do not. It tries, in a
// mount namespace that goes with the trial.
func ShowsOthers() error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine, and its namespace with the thread
		if unix.Gettid() == unix.Getpid() {
			done <- ShowsOthers() // on another thread: the first one stays, and its namespace is shown as that of the process
			runtime.UnlockOSThread()
			return
		}
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = hideOthers()
		}
		done <- err
	}()
	return <-done
}

// private gives the job its own /tmp and /dev/shm.
func (v *View) private() error {
	tmp, err := hold(v.Tmp)
	if err != nil {
		return err
	}
	if err := bind(tmp, "/tmp"); err != nil {
		return err
	}
	err = unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("covering /dev/shm: %w", err)
	}
	return nil
}

// show mounts the visible folders inside covered ones.
func (v *View) show(kept []*os.File) error {
	for i, path := range v.Keep {
		if !v.covered(path) {
			continue
		}
		if err := os.MkdirAll(path, 0o711); err != nil { //nolint:gosec // the job is to pass through
			return err
		}
		if err := bind(kept[i], path); err != nil {
			return err
		}
	}
	if v.Script == "" {
		return nil
	}
	if !v.covered(v.Script) {
		return fmt.Errorf("%s is in no folder that is hidden from jobs", v.Script)
	}
	if err := os.MkdirAll(filepath.Dir(v.Script), 0o711); err != nil { //nolint:gosec // the job is to pass through
		return err
	}
	return writeFor(v.Script, v.Text)
}

// covered reports whether a path is in a folder that this view has covered.
func (v *View) covered(path string) bool {
	dirs := append([]string{"/tmp", "/dev/shm"}, v.Hide...)
	for _, f := range v.Peers {
		dirs = append(dirs, f.Path)
	}
	for _, dir := range dirs {
		if strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") {
			return true
		}
	}
	return false
}

// writeFor makes a file that every user in this namespace may read and execute.
func writeFor(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // it is to be executed
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Chmod(0o555), f.Close())
}

// hold opens a folder, so that it can be found when it is covered.
func hold(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func bind(from *os.File, to string) error {
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", from.Fd()), to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("showing %s at %s: %w", from.Name(), to, err)
	}
	return nil
}
