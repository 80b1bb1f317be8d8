package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	now   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	errIn = errors.New("the reason")
)

// judged is facts, and what they are judged to be.
type judged struct {
	name    string
	found   []Finding
	result  Result // the worst
	about   string // part of what the worst is about
	message string // part of its message
	remedy  string // part of its remedy
}

// check compares the worst finding of each, and that no warning or fault is without a remedy.
func check(t *testing.T, cases []judged) {
	t.Helper()
	weight := map[Result]int{OK: 0, Skipped: 1, Warning: 2, Fault: 3}
	for _, c := range cases {
		if len(c.found) == 0 {
			t.Errorf("%s: no finding", c.name)
			continue
		}
		worst := c.found[0]
		for _, f := range c.found {
			if weight[f.Result] > weight[worst.Result] {
				worst = f
			}
			if (f.Result == Warning || f.Result == Fault) != (f.Remedy != "") {
				t.Errorf("%s: %+v: exactly warnings and faults have a remedy", c.name, f)
			}
			if f.Check == "" || f.About == "" || f.Message == "" || strings.Contains(f.Message, "%!") {
				t.Errorf("%s: %+v is not complete", c.name, f)
			}
		}
		if worst.Result != c.result || !strings.Contains(worst.About, c.about) || !strings.Contains(worst.Message, c.message) ||
			!strings.Contains(worst.Remedy, c.remedy) {
			t.Errorf("%s: %+v, want %s %q %q %q", c.name, worst, c.result, c.about, c.message, c.remedy)
		}
	}
}

func clock(ahead, slack time.Duration) []Finding {
	return Clocks([]PeerClock{{Peer: "p2", Ahead: ahead, Error: slack}})
}

func TestClocks(t *testing.T) {
	check(t, []judged{
		{"alike", clock(200*time.Millisecond, 50*time.Millisecond), OK, "peer p2", "250 ms", ""},
		{"behind", clock(-3*time.Second, 0), Warning, "peer p2", "3 s behind", "timedatectl set-ntp"},
		{"a slow network explains it", clock(3*time.Second, 2500*time.Millisecond), OK, "peer p2", "", ""},
		{"far ahead", clock(31*time.Second, 0), Fault, "peer p2", "more than 30s", "chronyc"},
		{"synchronised", []Finding{Synchronised(true, nil)}, OK, "this machine", "", ""},
		{"not synchronised", []Finding{Synchronised(false, nil)}, Warning, "this machine", "not synchronised", "timedatectl"},
		{"unknown", []Finding{Synchronised(false, errIn)}, Skipped, "this machine", "the reason", ""},
	})
}

func folder(change func(*Folder)) []Finding {
	f := &Folder{
		Role: "peer", Path: "/var/lib/berth/server", Mode: 0o700, Owner: "berth", Want: "berth", Type: "ext4", Options: []string{"rw", "relatime"},
		Fsync: time.Millisecond, Free: 50 << 30, Total: 100 << 30, MinFree: 512 << 20, Ballast: 64 << 20, BallastWants: 64 << 20,
	}
	change(f)
	return Disk(f)
}

func TestDisk(t *testing.T) {
	check(t, []judged{
		{"sound", folder(func(*Folder) {}), OK, "peer: /var/lib/berth/server", "", ""},
		{"closed to this user", folder(func(f *Folder) { f.Err = errIn }), Fault, "", "the reason", "as root"},
		{"open to others", folder(func(f *Folder) { f.Mode = 0o755 }), Fault, "", "mode 0755", "chmod 700 /var/lib/berth/server"},
		{"of another account", folder(func(f *Folder) { f.Owner = "root" }), Fault, "", "belongs to the account root", "chown -R berth:"},
		{"NFS", folder(func(f *Folder) { f.Type = "nfs4" }), Fault, "", "network file system (nfs4)", "server.data_dir"},
		{"NFS on a node", folder(func(f *Folder) { f.Role, f.Type = "node", "nfs" }), Fault, "node: ", "network file system", "agent.data_dir"},
		{"read-only", folder(func(f *Folder) { f.Options = []string{"ro"} }), Fault, "", "read-only", "remount"},
		{"in memory", folder(func(f *Folder) { f.Type = "tmpfs" }), Warning, "", "in memory", "local disk"},
		{"full", folder(func(f *Folder) { f.Free = 100 << 20 }), Fault, "", "100 MiB of 102400 MiB are free, less than the 512 MiB", "make room"},
		{"short of files", folder(func(f *Folder) { f.Short = "has no room for files" }), Fault, "", "has no room for files", "make room"},
		{"nearly full", folder(func(f *Folder) { f.Free = 9 << 30 }), Warning, "", "less than a tenth", "make room"},
		{"a part of a large disk", folder(func(f *Folder) { f.Free, f.Total = 11<<30, 4<<40 }), OK, "", "", ""},
		{"without ballast", folder(func(f *Folder) { f.Ballast = 0 }), Warning, "", "the ballast has 0 MiB of 64 MiB", "restart the unit"},
		{"slow", folder(func(f *Folder) { f.Fsync = 30 * time.Millisecond }), Warning, "", "takes 30ms", "iostat"},
		{"very slow", folder(func(f *Folder) { f.Fsync = time.Second }), Fault, "", "cannot lead", "iostat"},
		{"broken", folder(func(f *Folder) { f.FsyncErr = errIn }), Fault, "", "the reason", "dmesg"},
	})
}

func TestListeners(t *testing.T) {
	one := func(owner string, taken, runs bool) []Finding {
		return Listeners([]Listener{{Role: "node", Port: "agent", Network: "tcp", Address: "10.0.0.11:7001", Setting: "agent.listen", Owner: owner, Taken: taken, Runs: runs}})
	}
	check(t, []judged{
		{"its own", one("berthd", true, true), OK, "agent, TCP", "berthd listens", ""},
		{"free", one("", false, false), OK, "agent, TCP", "is free", ""},
		{"another program", one("nginx", true, false), Fault, "agent, TCP", "nginx listens on 10.0.0.11:7001", "agent.listen"},
		{"runs and does not listen", one("", false, true), Fault, "agent, TCP", "nothing listens", "journalctl -u berth-agent.service"},
	})
}

func TestReaches(t *testing.T) {
	one := func(network, result string, back bool) []Finding {
		return Reaches([]Reach{{Other: "peer p2", Port: "gossip", Network: network, Address: "10.0.0.2:7002", Back: back, Result: result, Detail: "the reason"}})
	}
	check(t, []judged{
		{"there", one("tcp", Answers, false), OK, "to peer p2: gossip, TCP", "10.0.0.2:7002 answers", ""},
		{"TCP is closed here", one("tcp", NoAnswer, true), Fault, "from peer p2: gossip, TCP", "no answer", "let TCP port 7002 through firewalls from peer p2 to this machine"},
		{"nothing listens", one("tcp", Refused, false), Fault, "to peer p2", "refuses", "start the program of peer p2"},
		{"another program", one("tcp", Failed, false), Fault, "to peer p2", "the reason", "peer p2"},
	})
}

func TestNames(t *testing.T) {
	own := []string{"10.0.0.11", "127.0.0.1"}
	one := func(h Host, translated bool) []Finding { return Names([]Host{h}, own, translated) }
	check(t, []judged{
		{"a peer", one(Host{Name: "p1", Used: "server.join", IPs: []string{"10.0.0.1"}}, false), OK, "server.join: p1", "10.0.0.1", ""},
		{"an unknown name", one(Host{Name: "p9", Used: "server.join", Err: errIn}, false), Fault, "server.join: p9", "the reason", "getent hosts p9"},
		{"this machine", one(Host{Name: "gpu1", Used: "agent.advertise", Own: true, IPs: []string{"10.0.0.11"}}, false), OK, "agent.advertise", "", ""},
		{"another machine", one(Host{Name: "gpu1", Used: "agent.advertise", Own: true, IPs: []string{"10.0.0.12"}}, false), Fault, "agent.advertise", "no address of this machine", "10.0.0.11"},
		{"behind a router", one(Host{Name: "gpu1", Used: "agent.advertise", Own: true, IPs: []string{"10.0.0.12"}}, true), OK, "agent.advertise", "peers reach", ""},
	})
}

func certificate(change func(*Certificate)) []Finding {
	c := &Certificate{
		Role: "peer", Name: "p1", Folder: "/var/lib/berth/server/trust", Holder: "peer p1", From: now.Add(-10 * 24 * time.Hour), Till: now.Add(80 * 24 * time.Hour),
		Names: []string{"10.0.0.1"}, API: "10.0.0.1", Generation: 1, Newest: 1, Signed: true,
	}
	change(c)
	return Certificates(c, now)
}

func TestCertificates(t *testing.T) {
	check(t, []judged{
		{"sound", certificate(func(*Certificate) {}), OK, "peer: /var/lib/berth/server/trust", "", ""},
		{"damaged", certificate(func(c *Certificate) { c.Err = errIn }), Fault, "", "the reason", "berth token join"},
		{"the last third", certificate(func(c *Certificate) { c.Till = now.Add(4 * 24 * time.Hour) }), Warning, "", "less than a third", "journalctl"},
		{"expired", certificate(func(c *Certificate) { c.Till = now.Add(-time.Hour) }), Fault, "", "has expired", "berth join peer --renew here"},
		{"expired, with the key of the authority", certificate(func(c *Certificate) { c.Till, c.Issues = now.Add(-time.Hour), true }), Fault, "", "has expired", "start the peer"},
		{"superseded", certificate(func(c *Certificate) { c.Refused = "superseded: berth join peer --renew" }), Fault, "", "refuses this certificate: superseded: berth join peer --renew", "follow the message"},
		{"not yet", certificate(func(c *Certificate) { c.From = now.Add(time.Hour) }), Fault, "", "counts from", "clock"},
		{"of another member", certificate(func(c *Certificate) { c.Holder = "node gpu1" }), Fault, "", "of node gpu1", "put the certificate"},
		{"an open file", certificate(func(c *Certificate) { c.Open = []OpenFile{{"/x/identity.pem", 0o644}} }), Fault, "", "mode 0644", "chmod 600 /x/identity.pem"},
		{"another authority", certificate(func(c *Certificate) { c.Signed = false }), Fault, "", "not signed", "berth join"},
		{"a generation that is none", certificate(func(c *Certificate) { c.Generation = 7 }), Fault, "", "follows generation 7", "--renew"},
		{"an old generation of a node", certificate(func(c *Certificate) { c.Role, c.Holder, c.Newest = "node", "node "+c.Name, 3 }), Fault, "", "generation 1", "join node --renew"},
		{"an old generation", certificate(func(c *Certificate) { c.Newest = 3 }), Fault, "", "generation 1", "join again"},
		{"another host", certificate(func(c *Certificate) { c.API = "berth.example" }), Warning, "", "not the host of the API, berth.example", "rotate leaf"},
		{"a key of secrets", []Finding{sealingKeys(&Sealing{File: "/x/sealing.key", Keys: 1})}, OK, "key of secrets: /x/sealing.key", "it is there", ""},
		{"no key of secrets", certificate(func(c *Certificate) { c.Sealing = &Sealing{File: "/x/sealing.key"} }), Warning, "key of secrets", "has no key", "start the peer"},
		{"a bad file of keys", certificate(func(c *Certificate) { c.Sealing = &Sealing{File: "/x/sealing.key", Err: errIn} }), Fault, "key of secrets", "the reason", "does not start"},
	})
}

func TestLogin(t *testing.T) {
	good := Session{Name: "lab", Addresses: []string{"10.0.0.1:10000"}, Asks: true, Token: true, User: "ann", Role: "user", Expires: now.Add(60 * 24 * time.Hour)}
	one := func(change func(*Session)) []Finding {
		s := good
		change(&s)
		return Login(&s, now)
	}
	check(t, []judged{
		{"sound", one(func(*Session) {}), OK, "cluster lab", "stored authority", ""},
		{"another authority", one(func(s *Session) { s.Refused, s.Err = true, errIn }), Fault, "cluster lab", "another authority", "berth login lab --address"},
		{"no peer", one(func(s *Session) { s.Err = errIn }), Fault, "cluster lab", "no peer answers: the reason", "firewalls"},
		{"no token", one(func(s *Session) { s.Token = false }), Fault, "token", "none is stored", "berth token create"},
		{"a bad token", one(func(s *Session) { s.Bad, s.Err = true, errIn }), Fault, "token", "not accepted", "berth token create"},
		{"it ends soon", one(func(s *Session) { s.Expires = now.Add(24 * time.Hour) }), Warning, "token", "expires in 24.0 h", "--user ann"},
		{"it has no end", one(func(s *Session) { s.Expires = time.Time{} }), OK, "cluster lab", "", ""},
		{"no tokens", one(func(s *Session) { s.Asks, s.Token = false, false }), OK, "cluster lab", "", ""},
	})
}

func TestHost(t *testing.T) {
	group := func(change func(*Groups)) []Finding {
		g := &Groups{Kind: "v2", Unit: "berth-jobs.service", Path: "/x", Holding: true, Delegated: true, Controllers: []string{"cpu", "memory", "pids"}}
		change(g)
		return ControlGroups(g)
	}
	unit := func(u UnitState) []Finding { return Units([]UnitState{u}, nil) }
	limit := func(has uint64) []Finding {
		return Limits([]Limit{{Name: "nofile", Of: "berthd agent", Has: has, Least: 65536, Remedy: "LimitNOFILE=65536"}})
	}
	check(t, []judged{
		{"groups", group(func(*Groups) {}), OK, "jobs", "cpu, memory, pids", ""},
		{"version 1", group(func(g *Groups) { g.Kind = "hybrid" }), Warning, "jobs", "hybrid", "unified_cgroup_hierarchy"},
		{"the unit is away", group(func(g *Groups) { g.Holding = false }), Fault, "jobs", "berth-jobs.service does not run", "systemctl start berth-jobs.service"},
		{"not delegated", group(func(g *Groups) { g.Delegated = false }), Fault, "jobs", "Delegate=yes", "systemctl revert"},
		{"no memory controller", group(func(g *Groups) { g.Controllers = []string{"cpu", "pids"} }), Warning, "jobs", "memory are not delegated", "cgroup_disable"},
		{"no group", group(func(g *Groups) { g.Unit = "" }), Warning, "jobs", "no control group", "its unit"},
		{"in a container", group(func(g *Groups) { g.Unit, g.Inside = "", "/x" }), OK, "jobs", "version 2", ""},
		{"active", unit(UnitState{Name: "berth-agent.service", Load: "loaded", Active: "active", Enabled: "enabled"}), OK, "berth-agent.service", "active", ""},
		{"failed", unit(UnitState{Name: "berth-agent.service", Load: "loaded", Active: "failed", Enabled: "enabled"}), Fault, "berth-agent.service", "failed", "journalctl -u berth-agent.service"},
		{"disabled", unit(UnitState{Name: "berth-agent.service", Load: "loaded", Active: "active", Enabled: "disabled"}), Warning, "berth-agent.service", "disabled", "systemctl enable"},
		{"started by another", unit(UnitState{Name: "berth-jobs.service", Load: "loaded", Active: "active", Enabled: "disabled", Starter: "berth-agent.service"}), OK, "berth-jobs.service", "started by berth-agent.service", ""},
		{"started by another, and failed", unit(UnitState{Name: "berth-jobs.service", Load: "loaded", Active: "failed", Starter: "berth-agent.service"}), Fault, "berth-jobs.service", "failed", "systemctl enable --now"},
		{"masked", unit(UnitState{Name: "berth-agent.service", Load: "masked", Active: "inactive", Enabled: "masked"}), Fault, "berth-agent.service", "masked and inactive", "systemctl unmask berth-agent.service"},
		{"masked until the next boot", unit(UnitState{Name: "berth-agent.service", Load: "masked", Active: "inactive", Enabled: "masked-runtime"}), Fault, "berth-agent.service", "masked and inactive", "systemctl unmask --runtime berth-agent.service"},
		{"broken", unit(UnitState{Name: "berth-agent.service", Load: "bad-setting", Active: "inactive"}), Fault, "berth-agent.service", "bad-setting", "systemd-analyze verify"},
		{"unknown", unit(UnitState{Name: "berth-agent.service", Load: "not-found"}), Warning, "berth-agent.service", "does not know", "install"},
		{"no systemd", Units(nil, errIn), Skipped, "systemd", "the reason", ""},
		{"by hand", unit(UnitState{Name: "berth-agent.service", Active: "inactive", Outside: true}), OK, "berth-agent.service", "not by the unit", ""},
		{"enough files", limit(Unlimited), OK, "nofile", "unlimited", ""},
		{"few files", limit(1024), Warning, "berthd agent: nofile", "1024, less than 65536", "LimitNOFILE"},
		{"an unknown limit", Limits([]Limit{{Name: "nofile", Of: "berthd agent", Err: errIn}}), Skipped, "nofile", "the reason", ""},
	})
}

func TestAccounts(t *testing.T) {
	one := func(change func(*Agent)) []Finding {
		g := &Agent{AsUsers: true, Account: "root", Root: true, Users: []User{{Name: "ann"}}}
		change(g)
		return Accounts(g)
	}
	check(t, []judged{
		{"sound", one(func(*Agent) {}), OK, "agent", "", ""},
		{"a user without an account", one(func(g *Agent) { g.Users = []User{{"ann", nil}, {"bob", errIn}} }), Warning, "user bob", "the reason", "getent passwd bob"},
		{"not root", one(func(g *Agent) { g.Account, g.Root = "berth", false }), Fault, "agent", "runs as berth", "which is root's"},
		{"no capability", one(func(g *Agent) { g.Unable = errIn }), Fault, "agent", "the reason", "capabilities"},
		{"unknown users", one(func(g *Agent) { g.Err = errIn }), Skipped, "users", "the reason", ""},
		{"one account", one(func(g *Agent) { g.AsUsers = false }), Warning, "agent", "only those of the user of that name", "agent.run_as_users"},
		{"a shared account", one(func(g *Agent) { g.AsUsers, g.Shared = false, true }), OK, "agent", "all users", ""},
		{"no account of peers", []Finding{Account("berth", errIn)}, Fault, "account berth", "the reason", "systemd-sysusers"},
		{"an account of peers", []Finding{Account("berth", nil)}, OK, "account berth", "", ""},
	})
}

func TestGPUs(t *testing.T) {
	one := func(change func(*Card)) []Finding {
		c := Card{ID: "GPU-1", Model: "H100", Persistence: On, ECC: On}
		change(&c)
		return GPUs(&Driver{Version: "570.1", Cards: []Card{c}})
	}
	check(t, []judged{
		{"sound", one(func(*Card) {}), OK, "NVML", "driver 570.1, 1 GPU", ""},
		{"no driver", GPUs(&Driver{Err: errIn}), Fault, "NVML", "the reason", "nvidia-smi"},
		{"no GPU", GPUs(&Driver{Version: "570.1"}), Fault, "NVML", "finds no GPU", "lspci"},
		{"simulated", GPUs(&Driver{Simulated: 4}), OK, "NVML", "simulated: 4", ""},
		{"none", GPUs(&Driver{None: true}), OK, "NVML", "no GPUs", ""},
		{"not persistent", one(func(c *Card) { c.Persistence = Off }), Warning, "persistence", "off for 1 GPU (GPU-1)", "nvidia-persistenced"},
		{"no ECC", one(func(c *Card) { c.ECC = Off }), Warning, "GPU-1", "ECC is off", "nvidia-smi -e 1"},
		{"others' processes", one(func(c *Card) { c.Strangers = []string{"python (pid 17, ann)"} }), Warning, "GPU-1", "python (pid 17, ann)", "cordon"},
		{"unreadable", one(func(c *Card) { c.Err = errIn }), Fault, "GPU-1", "the reason", "Xid"},
	})
}

func TestCluster(t *testing.T) {
	peer := func(change func(*PeerState)) []Finding {
		p := &PeerState{Leader: "p1", Voters: 3, Tolerates: 1, BackupEvery: 24 * time.Hour, BackupAge: 3 * time.Hour}
		change(p)
		return Quorum(p)
	}
	check(t, []judged{
		{"sound", peer(func(*PeerState) {}), OK, "quorum", "3 voters, the cluster tolerates the loss of 1", ""},
		{"down", peer(func(p *PeerState) { p.Err = errIn }), Fault, "quorum", "the reason", "systemctl start berth-server"},
		{"apart", peer(func(p *PeerState) { p.Err, p.Apart = errIn, "its certificate was superseded: berth join peer --renew" }), Fault, "quorum", "takes no part in the cluster: its certificate was superseded", "follow the message"},
		{"removed", peer(func(p *PeerState) { p.Err, p.Ended, p.Removed = errIn, "it was taken out", true }), Fault, "quorum", "was removed from the cluster: it was taken out", "another --id"},
		{"ended", peer(func(p *PeerState) { p.Err, p.Ended = errIn, "the disk is full" }), Fault, "quorum", "ended by itself: the disk is full", "follow the message"},
		{"the unit of a removed peer", Units([]UnitState{{Name: "berth-server.service", Load: "loaded", Active: "failed", Over: true}}, nil), Warning, "berth-server.service", "was removed", "systemctl disable"},
		{"stopped", peer(func(p *PeerState) { p.Tolerates, p.Unreachable = -1, []string{"p2", "p3"} }), Fault, "quorum", "not reached: p2, p3", "berth peers"},
		{"one more", peer(func(p *PeerState) { p.Tolerates = 0 }), Warning, "quorum", "tolerates the loss of none", "berth peers"},
		{"alone", peer(func(p *PeerState) { p.Voters, p.Tolerates = 1, 0 }), Warning, "quorum", "one voter", "berth token join peer"},
		{"just joined", peer(func(p *PeerState) { p.Voters, p.Tolerates, p.Peers = 1, 0, 3 }), Warning, "quorum", "3 peers, and one vote so far", "berth peers"},
		{"standing still", peer(func(p *PeerState) { p.Standstill = true }), Warning, "standstill", "stands still", "berth cluster resume"},
		{"two agents", peer(func(p *PeerState) { p.TwoAgents = []string{"node n1: another agent registers"} }), Fault, "nodes", "another agent registers", "stop one"},
		{"no backups", peer(func(p *PeerState) { p.BackupEvery = 0 }), Warning, "backup", "no peer makes backups", "backup.dir"},
		{"another's", peer(func(p *PeerState) { p.BackupEvery, p.OthersBackUp = 0, true }), OK, "quorum", "", ""},
		{"an old one", peer(func(p *PeerState) { p.BackupAge = 72 * time.Hour }), Fault, "backup", "3.0 days old", "journalctl"},
		{"a failed one", peer(func(p *PeerState) { p.BackupFailure = "the disk is full" }), Fault, "backup", "the disk is full", "berth backup list"},
		{"none yet", peer(func(p *PeerState) { p.BackupAge = 0 }), Warning, "backup", "no backup yet", "berth backup create"},
		{"same versions", Versions(&Programs{Own: "v1", Level: 5, Newest: 5, Peers: []Program{{"peer p1", "v1"}}}), OK, "cluster", "v1", ""},
		{"other versions", Versions(&Programs{Own: "v1", Peers: []Program{{"peer p1", "v2"}}}), Warning, "cluster", "run v2", "berth cluster upgrade check"},
		{"too far apart", Versions(&Programs{Own: "v1", Broken: []string{"peers p1 and p2"}}), Fault, "cluster", "p1 and p2", "berth cluster upgrade check"},
		{"unknown versions", Versions(&Programs{Own: "v1", Err: errIn}), Skipped, "cluster", "the reason", ""},
		{"wrong settings", []Finding{Settings("/etc/berth/berth.yaml", errIn)}, Fault, "/etc/berth/berth.yaml", "the reason", "berthd config validate /etc/berth/berth.yaml"},
		{"right settings", []Finding{Settings("/etc/berth/berth.yaml", nil)}, OK, "/etc/berth/berth.yaml", "valid", ""},
	})
}

// A report prints a line for each finding, and the remedies of faults before those of warnings.
func TestReport(t *testing.T) {
	r := &Report{Host: "gpu1", Version: "v1", Roles: []Role{{"node", "gpu1"}}}
	r.Add(Synchronised(false, nil), Synchronised(true, nil), Synchronised(false, errIn), Account("berth", errIn))
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, part := range []string{"gpu1, node gpu1, berth v1", "RESULT   CHECK", "warning  clock", "ok       clock", "1 fault, 1 warning, 1 check skipped."} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	if fault, warning := strings.Index(text, "\nfault: accounts"), strings.Index(text, "\nwarning: clock"); fault < 0 || fault > warning || strings.Count(text, "  remedy: ") != 2 {
		t.Errorf("the remedies:\n%s", text)
	}
}
