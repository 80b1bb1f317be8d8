package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/nodeapi"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/slurm/jobfile"
)

// Steps connects to the servers of steps of jobs in Slurm's language, for package nodeapi.
type Steps struct{ Journal *journal.Journal }

var _ nodeapi.Steps = Steps{}

// Dial connects to the server of steps of a rank; fs.ErrNotExist: there is none, or not yet.
func (s Steps) Dial(ctx context.Context, rank model.RankKey) (net.Conn, error) {
	path, ok := s.Journal.Find(rank)
	if !ok {
		return nil, fmt.Errorf("rank %s: %w", rank, fs.ErrNotExist)
	}
	conn, err := dialOwned(ctx, filepath.Join(path, runner.GangFolder), jobfile.Tunnels)
	if errors.Is(err, unix.ECONNREFUSED) { // left by a process that has ended
		err = fmt.Errorf("rank %s: %w: %w", rank, fs.ErrNotExist, err)
	}
	return conn, err
}

// dialOwned connects to a socket in a folder of an account. The account may put anything there, such as a link to a socket of root: only a
// socket of the same account is connected to, and no link is followed.
func dialOwned(ctx context.Context, folder, name string) (net.Conn, error) {
	const held = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dir, err := unix.Open(folder, held|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	defer func() { _ = unix.Close(dir) }()
	socket, err := unix.Openat(dir, name, held, 0)
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", name, folder, err)
	}
	defer func() { _ = unix.Close(socket) }()
	var of, own unix.Stat_t
	if err := errors.Join(unix.Fstat(dir, &of), unix.Fstat(socket, &own)); err != nil {
		return nil, err
	}
	if own.Mode&unix.S_IFMT != unix.S_IFSOCK || own.Uid != of.Uid {
		return nil, fmt.Errorf("%s in %s is no socket of the account %d: %w", name, folder, of.Uid, fs.ErrNotExist)
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(socket))
}
