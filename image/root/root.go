// Package root gives processes the files of an image as their file system, as enroot (https://github.com/NVIDIA/enroot) does: in a user
// namespace and a mount namespace of their own, without rights that the user does not have, and without a service.
//
// What programs change is kept in a folder on top of the image, which stays as it is and may be used by any number of processes
// (https://docs.kernel.org/filesystems/overlayfs.html). Linux 5.12 or newer is needed.
package root

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Plan describes a file system.
type Plan struct {
	Image    string // folder with the files of the image
	State    string // folder for what changes, of the user and not on a network
	ReadOnly bool   // the files of the image cannot be changed
	Account  Account
	Binds    []Bind   // mounted in this order
	Folders  []string // are made if they are missing in the image
}

// Bind is a file or folder of the node that is mounted.
type Bind struct {
	Source   string // absolute
	Target   string // absolute, in the image; made if missing
	ReadOnly bool
	Alone    bool // without the mounts below Source
	Optional bool // left out if Source is missing, or if Target is missing and cannot be made: an image in a folder may be of another user
}

// Names of folders in the folder for what changes.
const (
	upper = "upper" // files that were changed
	work  = "work"  // of the kernel
	over  = "root"  // where both together are mounted
)

// Namespaces returns the attributes of a process that may call [Plan.Enter]. The process has the same user and group as this one, or with
// root the number 0 for both.
func Namespaces(root bool) *syscall.SysProcAttr {
	uid, gid := os.Getuid(), os.Getgid()
	inUID, inGID := uid, gid
	if root {
		inUID, inGID = 0, 0
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: inUID, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: inGID, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE}, // for Enter; see Drop
	}
}

// Enter makes the file system that of this process and of those that are started from now on. The process must have been started with
// [Namespaces].
func (p *Plan) Enter() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("this process cannot mount: %w", err)
	}
	at, err := p.overlay()
	if err != nil {
		return err
	}
	top, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(top) }()
	if err := p.fill(top); err != nil {
		return err
	}
	if p.ReadOnly {
		if err := readOnly(top, false); err != nil {
			return fmt.Errorf("the image cannot be made read-only: %w", err)
		}
	}
	if err := unix.Fchdir(top); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("the image cannot become the file system: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("the files of the node cannot be left: %w", err)
	}
	return os.Chdir("/")
}

// Drop keeps programs that this thread starts from now on from having the rights of [Namespaces].
func Drop() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("the rights to mount cannot be given up: %w", err)
	}
	return nil
}

// overlay mounts the image with the folder for changes on top, and returns where.
func (p *Plan) overlay() (string, error) {
	at := filepath.Join(p.State, over)
	for _, name := range []string{upper, work, over} {
		if err := os.MkdirAll(filepath.Join(p.State, name), 0o700); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(filepath.Join(p.State, upper), 0o755); err != nil { //nolint:gosec // the root folder of the image, which other accounts may read
		return "", err
	}
	options := "userxattr,lowerdir=" + escape(p.Image) + ",upperdir=" + escape(filepath.Join(p.State, upper)) + ",workdir=" + escape(filepath.Join(p.State, work))
	if err := unix.Mount("overlay", at, "overlay", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		return "", fmt.Errorf("the image in %s cannot be mounted below changes in %s (an overlay file system needs Linux 5.12, and a local disk for changes): %w", p.Image, p.State, err)
	}
	return at, nil
}

// escape writes a path for the options of an overlay.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`).Replace(path)
}

// fill mounts everything in the image.
func (p *Plan) fill(top int) error {
	for _, path := range p.Folders {
		fd, err := target(top, path, true)
		if isDenied(err) {
			continue // a program that needs the folder reports that
		}
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
	}
	if err := p.Account.write(top, p.State); err != nil {
		return err
	}
	for i := range p.Binds {
		if err := p.Binds[i].mount(top); err != nil {
			return err
		}
	}
	return nil
}

// mount mounts a file or folder of the node in the image.
func (b *Bind) mount(top int) error {
	info, err := os.Stat(b.Source)
	if err != nil {
		if b.Optional && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("%s cannot be mounted at %s: %w", b.Source, b.Target, err)
	}
	to, err := target(top, b.Target, info.IsDir())
	if b.Optional && isDenied(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be mounted: %w", b.Source, err)
	}
	defer func() { _ = unix.Close(to) }()
	flags := uintptr(unix.MS_BIND | unix.MS_REC)
	if b.Alone {
		flags = unix.MS_BIND
	}
	if err := unix.Mount(b.Source, fmt.Sprintf("/proc/self/fd/%d", to), "", flags, ""); err != nil {
		if b.Alone && errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("%s cannot be mounted at %s without what is mounted below; remove the flag bind: %w", b.Source, b.Target, err)
		}
		return fmt.Errorf("%s cannot be mounted at %s: %w", b.Source, b.Target, err)
	}
	if !b.ReadOnly {
		return nil
	}
	mounted, err := open(top, b.Target)
	if err == nil {
		err = readOnly(mounted, !b.Alone)
		_ = unix.Close(mounted)
	}
	if err != nil {
		return fmt.Errorf("%s at %s cannot be made read-only: %w", b.Source, b.Target, err)
	}
	return nil
}

// isDenied reports whether a file of another user was to be changed.
func isDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EOVERFLOW)
}

// readOnly makes a mount read-only, or also all mounts below.
func readOnly(fd int, all bool) error {
	flags := uint(unix.AT_EMPTY_PATH)
	if all {
		flags |= unix.AT_RECURSIVE
	}
	return unix.MountSetattr(fd, "", flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// Tidy removes from a folder for what changes all but the changes themselves. Nothing may be mounted there.
func Tidy(state string) error {
	return errors.Join(Remove(filepath.Join(state, work)), Remove(filepath.Join(state, over)))
}

// Remove removes a folder for what changes, with everything in it.
func Remove(state string) error {
	// The kernel leaves a folder without any rights, and programs may have made more of them.
	_ = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (err != nil || d.Type().IsDir()) {
			if info, infoErr := d.Info(); infoErr == nil && info.Mode().Perm()&0o700 != 0o700 {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a folder of the user that is about to be removed
			}
		}
		if err != nil {
			return fs.SkipDir
		}
		return nil
	})
	return os.RemoveAll(state)
}
