package apply

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

func gpuID(node model.NodeID, n int) model.GPUID {
	return model.GPUID(fmt.Sprintf("GPU-%s-%d", node, n))
}

// inventory lists a node's two to four GPUs: mostly well, idle and all there.
func inventory(g *gen, id model.NodeID) (out []model.Device) {
	for i := range 2 + int(id[1]-'0')%3 {
		d := model.Device{
			ID: gpuID(id, i), Index: uint32(i), Model: pick(g, "H100", "H100", "H200"), MemoryMB: 141_000,
			PCI: fmt.Sprintf("0000:0%d:00.0", i), Link: "a", Health: model.HealthHealthy, Idle: g.roll(10) > 0,
		}
		switch g.roll(25) {
		case 0:
			continue // gone
		case 1:
			d.Health, d.Why = pick(g, model.HealthDegraded, model.HealthQuarantined, model.HealthDirty), "xid 79"
			d.Gone = d.Health == model.HealthQuarantined
		}
		out = append(out, d)
	}
	return out
}

// drawRegister brings a node that renews, rebooted, lost its folder or is another
// machine that took its name.
func drawRegister(g *gen) command.Body {
	id := anyNode(g)
	n, known := g.s.Nodes.Get(id)
	b := &command.Register{
		Node: id, Machine: n.Machine, Boot: n.Boot, Lineage: n.Lineage, Session: fmt.Sprintf("s%d", g.roll(1000)),
		Hostname: string(id) + ".example", Address: fmt.Sprintf("10.0.0.%d:7070", 1+len(id)+int(id[len(id)-1])%100), Version: "v1", CPUs: 64, MemoryMB: 512_000,
		Devices: inventory(g, id), Labels: pick(g, "", "rack=1,zone=a", "zone=b"),
		Trouble: pick(g, "", "", "", "", "", "the disk is full"), Account: pick(g, "alice", "root"),
		Accounts: pick(g, model.AccountsShared, model.AccountsShared, model.AccountsUsers, model.AccountsOwn),
	}
	if g.roll(4) > 0 { // else an agent of an older program
		b.Follows = n.Epoch + uint64(g.roll(8)/7)
	}
	if !known {
		b.Machine, b.Boot, b.Lineage = "machine-"+string(id), "boot0", "lineage0"
	}
	switch g.roll(12) {
	case 0:
		b.Machine = "machine-x"
	case 1, 2:
		b.Boot = fmt.Sprintf("boot%d", g.roll(1000))
	case 3:
		b.Lineage = fmt.Sprintf("lineage%d", g.roll(1000))
	case 4:
		b.Devices = append(b.Devices, model.Device{ID: "GPU-n1-0", Index: 9, Health: model.HealthHealthy})
		if id == "n1" {
			b.Devices = b.Devices[:len(b.Devices)-1]
		}
	}
	folders(g, b)
	b.Reports, b.Cleaned = reports(g, id, g.roll(3)), cleanWords(g, id)
	return b
}

// folders lists what the node should have on its disk, and now and then a job of
// another past.
func folders(g *gen, b *command.Register) {
	for k := range g.s.NodeRanks.From(state.NodeRankKey{Node: b.Node}) {
		if k.Node != b.Node {
			break
		}
		if g.roll(6) > 0 {
			b.Folders = append(b.Folders, model.Folder{Rank: k.Rank, Incarnation: g.s.Settings().Incarnation, Running: true})
		}
	}
	if g.roll(5) == 0 {
		b.Folders = append(b.Folders, model.Folder{
			Rank: strange(g), Incarnation: model.Incarnation{0xaa}, Running: g.roll(4) > 0,
			GPUs: []model.GPUID{gpuID(b.Node, 0), gpuID(b.Node, g.roll(4))},
		})
	}
}

// strange returns a rank that the state does not know: mostly of any job, sometimes the next attempt of a task that waits.
func strange(g *gen) model.RankKey {
	key := model.TaskKey{Job: model.JobID(1 + g.roll(int(min(5000, g.s.Settings().NextJob+2))))}
	if g.roll(2) == 0 {
		return key.Attempt(1).Rank(0)
	}
	for k, task := range g.s.Tasks.From(key) {
		if task.State == model.TaskQueued {
			return k.Attempt(task.Attempts + 1).Rank(0)
		}
	}
	return key.Attempt(1).Rank(0)
}

func drawRenew(g *gen) command.Body {
	b := &command.Renew{}
	for range 1 + g.roll(6) {
		id := anyNode(g)
		l, _ := g.s.Leases.Get(id)
		v := command.Renewal{Node: id, Incarnation: incarnationOf(g), Epoch: epochOf(g, id), Seq: l.Seq + uint64(g.roll(3))}
		b.Renewals = append(b.Renewals, v)
	}
	return b
}

func drawReport(g *gen) command.Body {
	id := anyNode(g)
	return &command.Report{
		Node: id, Incarnation: incarnationOf(g), Epoch: epochOf(g, id), Reports: reports(g, id, 1+g.roll(5)),
		Cleaned: cleanWords(g, id),
	}
}

func drawInventory(g *gen) command.Body {
	id := anyNode(g)
	b := &command.Inventory{Node: id, Incarnation: incarnationOf(g), Epoch: epochOf(g, id), Devices: inventory(g, id)}
	if g.roll(4) == 0 {
		b.Missing = []string{"alice", "bob"}[:1+g.roll(2)]
	}
	return b
}

// reports draws reports of ranks on the node, mostly the next step of each.
func reports(g *gen, id model.NodeID, n int) (out []model.Progress) {
	for k := range g.s.NodeRanks.From(state.NodeRankKey{Node: id}) {
		if k.Node != id || len(out) == n {
			break
		}
		r, _ := g.s.Ranks.Get(k.Rank)
		a, _ := g.s.Attempts.Get(k.Rank.Attempt())
		out = append(out, step(g, &r, a.Stop))
	}
	if len(out) < n && g.roll(3) == 0 { // of a rank that has ended, or lives elsewhere
		k := anyRank(g)
		r, _ := g.s.Ranks.Get(k)
		r.Key = k
		out = append(out, step(g, &r, model.ReasonNone))
	}
	return out
}

func step(g *gen, r *model.Rank, stop model.Reason) model.Progress {
	p := model.Progress{Rank: r.Key, Phase: min(r.Phase+1, model.RankExited)}
	if r.Phase.Ended() || r.Phase == 0 || g.roll(8) == 0 {
		p.Phase = model.RankPhase(2 + g.roll(5))
	}
	if stop != model.ReasonNone && g.roll(2) == 0 {
		p.Phase = pick(g, model.RankExited, model.RankNever)
	}
	switch p.Phase {
	case model.RankReady:
		p.Address, p.Port = "10.0.0.1", uint16(1024+g.roll(1000))
	case model.RankNever:
		p.Detail, p.Excused = "no room on the disk", g.roll(3) == 0
	case model.RankExited:
		p.Exit = model.Exit{Code: int32(max(0, g.roll(4)-2)), Ran: time.Duration(g.roll(5000)) * time.Second, Fenced: g.roll(30) == 0}
		if g.roll(2) == 0 {
			p.Exit.Delivered = stop
		}
		p.Exit.PeakMB = uint32(g.roll(3) * g.roll(80000))
		p.Exit.Watched = uint64(g.roll(5000))
		p.Exit.Idle = p.Exit.Watched / uint64(1+g.roll(3))
		p.Exit.Saved, p.Exit.GPUFault = p.Exit.Ran/time.Duration(1+g.roll(3)), p.Exit.Code > 0 && g.roll(8) == 0
		p.Exit.Refused = p.Exit.Code > 0 && g.roll(8) == 0
	case model.RankRunning:
		p.Saved = time.Duration(g.roll(3)) * time.Hour
	case model.RankAssigned, model.RankTaken, model.RankLost:
	}
	return p
}

// cleanWords shows the node's slots clean, most of those that wait for it.
func cleanWords(g *gen, id model.NodeID) (out []model.Cleaned) {
	d := g.s.Desired(id)
	for _, c := range d.Clean {
		if g.roll(3) > 0 {
			out = append(out, model.Cleaned{Slot: c.Slot, Rank: c.Rank, Allocation: c.Allocation})
		}
	}
	return out
}
