package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/table"
)

// Programs is the versions of the programs of a cluster.
type Programs struct {
	Own    string // of this program
	Broken []string
	Level  uint32
	Newest uint32
	Peers  []Program
	Err    error // they are not known
}

// Program is the program of a member.
type Program struct {
	Member  string // "peer p1"
	Version string
}

// Versions judges the versions of programs, by the rules of upgrades.
func Versions(p *Programs) (out []Finding) {
	a := about{CheckVersions, "cluster"}
	if p.Err != nil {
		return []Finding{a.skipped("this program is %s; those of the others are not known: %v", p.Own, p.Err)}
	}
	for _, b := range p.Broken {
		out = append(out, a.fault("berth cluster upgrade check, which names the next member", "%s", b))
	}
	var others []string
	for _, v := range p.Peers {
		if v.Version != p.Own && v.Version != "" && !slices.Contains(others, v.Version) {
			others = append(others, v.Version)
		}
	}
	if len(others) > 0 {
		out = append(out, a.warning("berth cluster upgrade check, which names the next member to be upgraded", "this program is %s, and other members run %s", p.Own, strings.Join(others, ", ")))
	} else {
		out = append(out, a.ok("all members that answer run %s", p.Own))
	}
	if p.Level > 0 {
		text := "the feature level is %d, the newest that the peers know"
		if p.Newest > p.Level {
			text = "the feature level is %d, and rises as berth cluster upgrade check says"
		}
		out = append(out, about{CheckVersions, "feature level"}.ok(text, p.Level))
	}
	return out
}

// PeerState is a peer's part in its cluster.
type PeerState struct {
	Err         error  // the peer does not answer
	Apart       string // why the peer takes no part in the cluster, as it answers; empty: it takes part
	Ended       string // why the peer ended by itself, if it does not run; empty: that is not known
	Removed     bool   // that was because the peer was removed from the cluster
	Leader      string
	Voters      int
	Peers       int // voters and others
	Tolerates   int // how many more voters may fail; negative: the cluster has stopped
	Standstill  bool
	Unreachable []string
	TwoAgents   []string // nodes for which a second agent registers, and why that is refused

	BackupEvery   time.Duration // 0: this peer makes none
	BackupAge     time.Duration // 0: there is none
	BackupFailure string
	OthersBackUp  bool // another peer makes backups
}

// Quorum judges whether the cluster goes on when a peer fails, and whether it has backups.
func Quorum(p *PeerState) (out []Finding) {
	a := about{CheckPeer, "quorum"}
	switch {
	case p.Err == nil:
	case p.Apart != "":
		return []Finding{a.fault("follow the message; the other peers go on without this one, as berth cluster status on one of them shows", "the peer of this machine takes no part in the cluster: %s", p.Apart)}
	case p.Removed:
		return []Finding{a.fault("if this machine is to be a peer again, move its data folder away, and berth join peer with another --id; otherwise systemctl disable berth-server",
			"the peer of this machine does not run, and was removed from the cluster: %s", p.Ended)}
	case p.Ended != "":
		return []Finding{a.fault("follow the message, then systemctl start berth-server", "the peer of this machine does not answer; it ended by itself: %s", p.Ended)}
	}
	if p.Err != nil {
		return []Finding{a.fault("systemctl start berth-server; journalctl -u berth-server says why it ended", "the peer of this machine does not answer: %v", p.Err)}
	}
	away := ""
	if len(p.Unreachable) > 0 {
		away = "; not reached: " + strings.Join(p.Unreachable, ", ")
	}
	start := "start the peers that are away (berth peers); if they are lost for good, berth cluster recover is the last way"
	switch {
	case p.Leader == "" || p.Tolerates < 0:
		out = append(out, a.fault(start, "the cluster has no majority and has stopped%s", away))
	case p.Voters == 1 && p.Peers > 1:
		out = append(out, a.warning("wait until berth peers shows their votes; berth peers promote gives one at once", "%d peers, and one vote so far: peers that join vote after ten stable seconds, if that makes the number of votes odd", p.Peers))
	case p.Voters == 1:
		out = append(out, a.warning("berth token join peer, and berth join peer on two more machines", "the cluster has one voter: while this machine is away, nothing starts"))
	case p.Tolerates == 0:
		out = append(out, a.warning(start, "%s, and the cluster tolerates the loss of none%s", count(p.Voters, "voter"), away))
	default:
		out = append(out, a.ok("%s, the cluster tolerates the loss of %d", count(p.Voters, "voter"), p.Tolerates))
	}
	if p.Standstill {
		out = append(out, about{CheckPeer, "standstill"}.warning("berth cluster resume, once the nodes are back", "the scheduler stands still, after a restore or during an import"))
	}
	for _, why := range p.TwoAgents {
		out = append(out, about{CheckPeer, "nodes"}.fault("stop one of the two agents, and give it another data folder and name", "%s", why))
	}
	return append(out, backups(p))
}

// lateAfter is by how much a backup may be older than the time between two.
const lateAfter = time.Hour

func backups(p *PeerState) Finding {
	a := about{CheckPeer, "backup"}
	switch {
	case p.BackupEvery == 0 && p.OthersBackUp:
		return a.ok("another peer makes backups")
	case p.BackupEvery == 0:
		return a.warning("set backup.dir on a peer to a folder of another machine (docs/operations.md), or run berth backup create regularly", "no peer makes backups by itself")
	case p.BackupFailure != "":
		return a.fault("follow the message, and look for the next backup with berth backup list", "the last backup has failed: %s", p.BackupFailure)
	case p.BackupAge == 0:
		return a.warning("wait for the first, or run berth backup create", "there is no backup yet")
	case p.BackupAge > p.BackupEvery+lateAfter:
		return a.fault("look at the log of the peer: journalctl -u berth-server -g backup", "the newest backup is %s old, and there should be one every %s", table.About(p.BackupAge), table.Span(p.BackupEvery))
	}
	return a.ok("the newest backup is %s old", table.About(p.BackupAge))
}

// Denied is a file or a folder that a setting names, and that the program of a role cannot use.
type Denied struct {
	Setting, Path string
	Why, Remedy   string
	Fatal         bool // the program does not start
}

// String returns what is wrong and what to do.
func (d *Denied) String() string {
	return fmt.Sprintf("%s: %s: %s: %s", d.Setting, d.Path, d.Why, d.Remedy)
}

// Access judges files and folders that settings name.
func Access(list []Denied) (out []Finding) {
	for i := range list {
		d := &list[i]
		out = append(out, about{CheckSettings, d.Setting}.fault(d.Remedy, "%s: %s", d.Path, d.Why))
	}
	return out
}

// Settings judges the file of settings.
func Settings(file string, err error) Finding {
	a := about{CheckSettings, file}
	if file == "" {
		a.about = "none"
	}
	if err != nil {
		return a.fault("berthd config validate "+file+" names each line", "the settings cannot be used: %v", err)
	}
	if file == "" {
		return a.ok("there is no file of settings; those of the environment and the defaults count")
	}
	return a.ok("the file is valid")
}
