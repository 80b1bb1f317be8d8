package inspect

import (
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/trust"
)

func TestParseMount(t *testing.T) {
	const text = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /var/lib/berth rw,nosuid shared:2 - nfs4 nas:/berth rw,vers=4.2
31 22 0:41 / /srv/with\040blank ro - xfs /dev/vdb ro
32 30 0:42 / /var/lib/berthold rw - tmpfs tmpfs rw
`
	for dir, want := range map[string]string{
		"/var/lib/berth": "nfs4 rw,nosuid", "/var/lib/berth/server": "nfs4 rw,nosuid", "/var/lib/berthold/x": "tmpfs rw", "/etc": "ext4 rw,relatime", "/srv/with blank/x": "xfs ro",
	} {
		if kind, options := parseMount(text, dir); kind+" "+strings.Join(options, ",") != want {
			t.Errorf("%s: %s %v, want %s", dir, kind, options, want)
		}
	}
	if kind, _ := parseMount("", "/etc"); kind != "unknown" {
		t.Errorf("without mounts: %s", kind)
	}
}

func TestParseLimit(t *testing.T) {
	const text = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max locked memory         unlimited            unlimited            bytes     \nMax open files            1024                 524288               files     \n"
	if n, err := parseLimit(text, "Max open files"); n != 1024 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := parseLimit(text, "Max locked memory"); n != doctor.Unlimited || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := parseLimit(text, "Max dreams"); err == nil {
		t.Error("a limit that is not there")
	}
}

func TestParseSockets(t *testing.T) {
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1B58 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1B59 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 100 0 0 10 0
`
	if got := parseSockets([]byte(text), listens); !maps.Equal(got, map[string]string{"7000": "4711"}) {
		t.Errorf("%v", got)
	}
}

// A port that this process listens on is found, with the program.
func TestTheOwnerOfAPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	inode, found := sockets()["tcp "+port]
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if owner := ownerOfSocket(inode); !found || owner != filepath.Base(self) {
		t.Errorf("port %s: %t, %q", port, found, owner)
	}
}

func TestFolderIn(t *testing.T) {
	for line, want := range map[string]string{
		"berthd server --data-dir /x --id p1": "/x", "berthd agent --data=/y": "/y", "berthd agent --config /etc/berth/berth.yaml": "", "berthd server --data-dir": "",
	} {
		if got := folderIn(strings.Fields(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// A process is a job's by its control group, or by a supervisor above it.
func TestProcessesOfJobs(t *testing.T) {
	type process struct {
		up             int
		group, command string
	}
	all := map[int]process{
		10: {1, "0::/system.slice/berth-jobs.service/berth-1/r1", "python train.py"}, 11: {20, "0::/x", "sh -c"}, 20: {1, "0::/x", "/usr/bin/berth-supervisor /var/lib"},
		12: {21, "0::/x", "python a.py"}, 21: {1, "0::/x", "berthd supervise"}, 13: {1, "0::/user.slice", "python mine.py"}, 14: {14, "0::/x", "loop"},
	}
	parent := func(pid int) (int, string, string) { p := all[pid]; return p.up, p.group, p.command }
	for pid, want := range map[int]bool{10: true, 11: true, 12: true, 13: false, 14: false, 99: false} {
		if got := ofJob(pid, parent); got != want {
			t.Errorf("%d: %t", pid, got)
		}
	}
	if up, _, command := parentOf(os.Getpid()); up != os.Getppid() || command == "" {
		t.Errorf("this process: parent %d, %q", up, command)
	}
}

func TestVersionsTooFarApart(t *testing.T) {
	got := tooFar("v1.1.0", []doctor.Program{{Member: "peer p1", Version: "v1.3.0"}, {Member: "peer p2", Version: "v1.4.0"}, {Member: "peer p3", Version: "devel"}})
	if len(got) != 1 || !strings.Contains(got[0], "peer p2 runs v1.4.0") {
		t.Errorf("%q", got)
	}
}

// A port counts by its name: its address may have the word of another.
func TestThePortOfGossip(t *testing.T) {
	t.Parallel()
	api := wire.ProbePort{Port: "api", Network: "tcp", Address: "gossip.example.com:8000", Result: wire.PortAnswers}
	if triesGossip([]wire.ProbePort{api}) || !triesGossip([]wire.ProbePort{api, {Port: wire.PortGossip}}) {
		t.Error("a port is taken for another")
	}
}

func TestKeysOfAPI(t *testing.T) {
	for text, want := range map[string][]string{
		"auth:\n  api_keys:\n    k1: web\n    k2: {user: ann}\n": {"k1", "k2"}, "api_keys: {k3: web}": {"k3"}, "{api_keys: \n\n{k4: web}}": {"k4"}, "a: b": nil, ":\n\t": nil,
	} {
		if got := keysOfAPI([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A peer that is down is examined by its files: settings, disk, certificate, and that no peer answers; a folder that others may enter and
// a certificate of another name are faults.
// A peer of another folder runs on this machine, and its command line names none.
func TestAnotherPeersProcess(t *testing.T) {
	dir := t.TempDir()
	data, other := filepath.Join(dir, "p1"), filepath.Join(dir, "p2")
	script := "exec 3<" + other + "\necho open\nread line\n"
	err := errors.Join(os.Mkdir(data, 0o700), os.Mkdir(other, 0o700), os.WriteFile(filepath.Join(dir, "server"), []byte(script), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	peer := exec.Command("/bin/sh", "server")
	peer.Args[0], peer.Dir = "berthd-of-a-test", dir
	in, err := peer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := peer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(in.Close(), peer.Wait()) }()
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if got := findDaemon(rolePeer, other); got.pid != peer.Process.Pid {
		t.Errorf("the process of the folder is %+v, want %d", got, peer.Process.Pid)
	}
	if got := findDaemon(rolePeer, data); got.pid == peer.Process.Pid {
		t.Errorf("the process of another folder counts: %+v", got)
	}
}

func TestAPeerThatIsDown(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "p1"), filepath.Join(dir, "berth.yaml")
	own, err := trust.Found(trust.Member{Name: "p9"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = port.Close() }()
	settings := "server:\n  id: p1\n  data_dir: " + data + "\n  listen: " + port.Addr().String() + "\n  http: 127.0.0.1:1\n  bootstrap: [p1=" + port.Addr().String() + "]\n"
	err = errors.Join(os.MkdirAll(data, 0o700), trust.Save(filepath.Join(data, trust.Subfolder), own),
		os.WriteFile(file, []byte(settings), 0o600), os.Chmod(data, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	const last = "peer p1 stops: it was removed"
	if err := NoteEnd(data, &Ended{At: time.Now(), Code: cmdline.ExitRemoved, Why: last}); err != nil {
		t.Fatal(err)
	}
	r := &doctor.Report{}
	Members(t.Context(), &examine.Place{Roles: []string{rolePeer}, File: file}, r)
	faults := map[string]string{}
	for _, f := range r.Findings {
		if f.Result == doctor.Fault {
			faults[f.Check] += f.Message + "; "
		}
	}
	for check, part := range map[string]string{
		doctor.CheckDisk: "mode 0755", doctor.CheckCertificates: "the certificate is of peer p9, and the settings are of peer p1", doctor.CheckPeer: last,
		doctor.CheckPorts: filepath.Base(os.Args[0]) + " listens on " + port.Addr().String(),
	} {
		if !strings.Contains(faults[check], part) {
			t.Errorf("%s: %q does not hold %q", check, faults[check], part)
		}
	}
	if r.Roles[0] != (doctor.Role{Role: rolePeer, Name: "p1"}) || len(faults[doctor.CheckSettings]) > 0 {
		t.Errorf("%+v, %v", r.Roles, faults)
	}
	if left, err := filepath.Glob(filepath.Join(data, "fsync*")); len(left) > 0 || err != nil {
		t.Errorf("left in the folder: %q", left)
	}
	collected := Collect(&examine.Place{Roles: []string{rolePeer}, File: file})
	for _, p := range collected.Parts {
		text, err := p.Collect(t.Context())
		if strings.HasPrefix(p.Name, "profiles/") {
			if err == nil {
				t.Errorf("%s of a peer that is down: %q", p.Name, text)
			}
			continue
		}
		if err != nil || text == "" || strings.Contains(text, "PRIVATE") {
			t.Errorf("%s: %v, %s", p.Name, err, text)
		}
	}
	if n := strconv.Itoa(len(collected.Parts)); n != "7" || !slices.Contains(collected.Units, "berth-server.service") {
		t.Errorf("%s parts, units %q", n, collected.Units)
	}
}
