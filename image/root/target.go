package root

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// open opens a path in the image as a place, not for reading. Links are followed within the image.
func open(top int, name string) (int, error) {
	return unix.Openat2(top, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
}

// target opens a path in the image, at which a file or folder is to be mounted, and makes what is missing.
func target(top int, name string, dir bool) (int, error) {
	name = path.Clean("/" + name)
	fd, err := open(top, name)
	if errors.Is(err, unix.ENOENT) {
		if err = create(top, name, dir); err == nil {
			fd, err = open(top, name)
		}
	}
	if err != nil {
		return -1, fmt.Errorf("%s in the image: %w", name, err)
	}
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	if is := stat.Mode&unix.S_IFMT == unix.S_IFDIR; err == nil && is != dir {
		err = errors.New("it is a folder in one of both, and not in the other")
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%s in the image: %w", name, err)
	}
	return fd, nil
}

// create makes a file or folder, with the folders above. A link that leads nowhere gives way.
func create(top int, name string, dir bool) error {
	parent, err := target(top, path.Dir(name), true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(parent) }()
	base := path.Base(name)
	if err := make1(parent, base, dir); !errors.Is(err, unix.EEXIST) {
		return err
	}
	if err := unix.Unlinkat(parent, base, 0); err != nil {
		return err
	}
	return make1(parent, base, dir)
}

func make1(parent int, base string, dir bool) error {
	if dir {
		return unix.Mkdirat(parent, base, 0o755)
	}
	fd, err := unix.Openat(parent, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
