package root

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Account is the user of the processes. The image gets an entry for the user and one for the group, if the image has none of the numbers.
type Account struct {
	User, Group string // empty: the image gets no entry
	UID, GID    int
	Home        string
	Shell       string
}

// write mounts the lists of users and groups with the account.
func (a *Account) write(top int, state string) error {
	if a.User == "" {
		return nil
	}
	user := fmt.Sprintf("%s:x:%d:%d::%s:%s", a.User, a.UID, a.GID, a.Home, a.Shell)
	if err := entry(top, state, "/etc/passwd", user, a.UID); err != nil {
		return err
	}
	return entry(top, state, "/etc/group", fmt.Sprintf("%s:x:%d:", a.Group, a.GID), a.GID)
}

// entry mounts a list of the image with one more line, unless the list has a line for the number.
func entry(top int, state, name, line string, number int) error {
	text, err := read(top, name)
	if err != nil {
		return err
	}
	for old := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimSpace(old), ":"); len(fields) > 2 && fields[2] == strconv.Itoa(number) {
			return nil
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	path := filepath.Join(state, filepath.Base(name))
	if err := os.WriteFile(path, []byte(text+line+"\n"), 0o644); err != nil { //nolint:gosec // like the list of the image
		return err
	}
	bind := Bind{Source: path, Target: name, Optional: true}
	return bind.mount(top)
}

// maxList bounds a list of users, in bytes.
const maxList = 16 << 20

// read reads a file of the image; a missing one is empty.
func read(top int, name string) (string, error) {
	fd, err := unix.Openat2(top, name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s in the image: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	data, err := io.ReadAll(io.LimitReader(f, maxList))
	return string(data), errors.Join(err, f.Close())
}
