package inspect

import (
	"cmp"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/cmd/internal/cli/daemon"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/node/disk"
	"github.com/berth-gpu/berth/node/runner/isolate"
	"github.com/berth-gpu/berth/trust"
)

// accountOfPeers is the account of the unit of peers.
const accountOfPeers = config.AccountOfPeers

// dataOfPeers is the data folder of the unit of peers.
const dataOfPeers = "/var/lib/berth/server"

// PeersHere returns how to find the peers on this host, by the settings of their unit and those of this host.
func PeersHere(c *config.Config) isolate.Peers {
	s := c.Server
	s.DataDir = cmp.Or(s.DataDir, dataOfPeers)
	p := isolate.Peers{Account: accountOfPeers, Socket: trust.LocalSocket, Command: []string{daemon.Program, daemon.Name, "server"}}
	for _, dir := range []string{s.DataDir, filepath.Dir(s.SealingFile())} {
		if full, err := filepath.Abs(dir); err == nil {
			p.Folders = append(p.Folders, full)
		}
	}
	return p
}

// folder returns what there is to know of the data folder.
func (m *member) folder() *doctor.Folder {
	f := &doctor.Folder{Role: m.role, Path: m.data}
	info, err := os.Stat(m.data)
	if err != nil {
		f.Err = err
		return f
	}
	if _, err := os.ReadDir(m.data); err != nil {
		f.Err = err
		return f
	}
	f.Mode = info.Mode()
	if st, is := info.Sys().(*syscall.Stat_t); is {
		f.Owner = ownerOf(st.Uid)
	}
	if m.role == rolePeer && unitKnown(doctor.Unit(m.role)) && !m.outside() {
		f.Want = accountOfPeers
	}
	f.Type, f.Options = mountOf(m.data)
	room, err := disk.RoomOf(m.data)
	if err != nil {
		f.Err = err
		return f
	}
	f.Free, f.Total = room.Free, room.Total
	if m.role == rolePeer {
		f.MinFree, f.BallastWants = m.settings.Server.MinFree<<20, raftstore.DefaultBallast
		if f.MinFree == 0 {
			f.MinFree = raftstore.DefaultMinFree
		}
		if (raftstore.Space{Free: f.Free, Total: f.Total}).Low() && f.Free >= f.MinFree {
			f.Short = "is so full that users' changes are refused"
		}
	} else {
		f.Short, f.BallastWants = room.Short(false), room.Ballast()
	}
	if st, err := os.Stat(filepath.Join(m.data, "ballast")); err == nil {
		f.Ballast = st.Size()
	}
	f.Fsync, _, f.FsyncErr = raftstore.ProbeFsync(m.data)
	if errors.Is(f.FsyncErr, os.ErrPermission) {
		f.Err, f.FsyncErr = f.FsyncErr, nil
	}
	return f
}

// ownerOf returns the name of an account.
func ownerOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "uid " + id
}

// mountOf returns type and options of the file system that a folder is on, by the mount with the longest path above the folder
// (proc_pid_mountinfo(5)).
func mountOf(dir string) (kind string, options []string) {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "unknown", nil
	}
	return parseMount(string(text), dir)
}

func parseMount(text, dir string) (kind string, options []string) {
	kind, longest := "unknown", -1
	for line := range strings.Lines(text) {
		head, tail, found := strings.Cut(line, " - ")
		fields, source := strings.Fields(head), strings.Fields(tail)
		if !found || len(fields) < 6 || len(source) < 1 {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		above := at == "/" || dir == at || strings.HasPrefix(dir, at+"/")
		if above && len(at) >= longest { // of two at one place the later one counts
			kind, options, longest = source[0], strings.Split(fields[5], ","), len(at)
		}
	}
	return kind, options
}
