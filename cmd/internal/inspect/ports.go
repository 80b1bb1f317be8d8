package inspect

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/doctor"
)

// process is a process of this machine; the zero process is none.
type process struct {
	pid  int
	args []string
}

func (p process) runs() bool { return p.pid != 0 }

// findDaemon returns the process of a role over a data folder: berthd server or agent. A folder that a command line does not name
// may be in a file of settings, so the process counts if it has the folder open, as each peer and agent has.
func findDaemon(role, data string) (found process) {
	word := map[string]string{rolePeer: "server", roleNode: "agent"}[role]
	folders, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range folders {
		text, err := os.ReadFile(path) //nolint:gosec // the kernel's
		if err != nil {
			continue
		}
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if len(args) < 2 || args[1] != word || !strings.HasPrefix(filepath.Base(args[0]), "berth") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		named := folderIn(args)
		switch {
		case named != "" && filepath.Clean(named) == filepath.Clean(data):
			return process{pid, args}
		case named == "" && !found.runs() && mayHave(pid, data):
			found = process{pid, args}
		}
	}
	return found
}

// mayHave reports whether a process has a folder or a file in it open. One whose files may not be read may have it.
func mayHave(pid int, data string) bool {
	if linked, err := filepath.EvalSymlinks(data); err == nil {
		data = linked
	}
	fds := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	open, err := os.ReadDir(fds)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(open, func(fd os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(fds, fd.Name()))
		return err == nil && (to == data || strings.HasPrefix(to, data+"/"))
	})
}

// folderIn returns the data folder that a command line names; empty: none.
func folderIn(args []string) string {
	for i, a := range args {
		name, value, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if strings.HasPrefix(a, "-") && (name == "data-dir" || name == "data" || name == "data_dir") {
			if has {
				return value
			}
			if i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return ""
}

// listeners returns the ports of the role.
func (m *member) listeners(*answers) (out []doctor.Listener) {
	held := sockets()
	add := func(port, network, setting, address string) {
		_, number, err := net.SplitHostPort(address)
		if err != nil || number == "0" {
			return
		}
		l := doctor.Listener{Role: m.role, Port: port, Network: network, Address: address, Setting: setting, Runs: m.daemon.runs()}
		inode, taken := held[network+" "+number]
		if l.Taken = taken; taken {
			l.Owner = ownerOfSocket(inode)
		}
		out = append(out, l)
	}
	gossip, _ := m.gossip()
	if m.role == rolePeer {
		add("raft", "tcp", "server.listen", m.settings.Server.Listen)
		add("api", "tcp", "server.http", m.settings.Server.HTTP)
	} else {
		add("agent", "tcp", "agent.listen", m.settings.Agent.Listen)
	}
	section := map[string]string{rolePeer: "server", roleNode: "agent"}[m.role]
	add("gossip", "tcp", section+".gossip", gossip)
	return out
}

// listens is the state of a socket that listens (proc_net(5)).
const listens = "0A"

// sockets returns the inodes of the sockets that this machine listens on, by network and port: "tcp 7000".
func sockets() map[string]string {
	out := map[string]string{}
	for _, v := range []struct{ file, network, state string }{{"tcp", "tcp", listens}, {"tcp6", "tcp", listens}} {
		text, err := os.ReadFile("/proc/net/" + v.file)
		if err != nil {
			continue
		}
		for port, inode := range parseSockets(text, v.state) { // order-free: a map of the same
			out[v.network+" "+port] = inode
		}
	}
	return out
}

// parseSockets reads a table of sockets in a state: number of the port to inode.
func parseSockets(text []byte, state string) map[string]string {
	out := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != state {
			continue
		}
		_, hex, _ := strings.Cut(f[1], ":")
		if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
			out[strconv.FormatUint(port, 10)] = f[9]
		}
	}
	return out
}

// ownerOfSocket returns the name of the program that has a socket; empty: it is not known, as without the right to look.
func ownerOfSocket(inode string) string {
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && to == "socket:["+inode+"]" {
			pid := strings.Split(f, "/")[2]
			return cmp.Or(programOf(pid), "process "+pid)
		}
	}
	return ""
}

// programOf returns the name of a process's program. Berth's programs are called berthd, under whatever name they were started.
func programOf(pid string) string {
	exe, err := os.Readlink("/proc/" + pid + "/exe")
	if err == nil {
		return strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	}
	comm, _ := os.ReadFile(filepath.Join("/proc", pid, "comm")) //nolint:gosec // the kernel's; without it the program is not known
	return strings.TrimSpace(string(comm))
}

// outside reports whether the program of the role runs and not by its unit.
func (m *member) outside() bool {
	if !m.daemon.runs() {
		return false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", m.daemon.pid))
	return err == nil && !slices.ContainsFunc(strings.Fields(string(text)),
		func(line string) bool { return strings.Contains(line, doctor.Unit(m.role)) })
}
