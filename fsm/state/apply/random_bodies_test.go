package apply

import (
	"fmt"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

func drawBootstrap(g *gen) command.Body {
	level := command.Level // most clusters are founded at the newest level
	if g.roll(4) == 0 {
		level = 1 + uint32(g.roll(int(command.Level)))
	}
	b := &command.Bootstrap{
		Incarnation: model.Incarnation{1, byte(g.roll(200))}, Level: level, Running: true, Policy: "fcfs",
		Retention: model.Retention{Jobs: 100, Age: time.Hour},
	}
	if g.roll(2) == 0 {
		b.Tuning = model.DefaultTuning()
		b.Tuning.Retries, b.Pools = uint32(g.roll(4)), model.Pools{Mode: model.PoolMode(g.roll(4)), Part: uint32(100 + g.roll(900))}
		b.Defaults = drawDefaults(g)
		b.Notify = model.Notify{Secret: model.NewHookSecret([32]byte{byte(g.roll(200))}), Backlog: uint32(g.roll(20))}
		b.Limits = []model.LimitValue{
			{Of: model.LimitQueued, Value: int64(20 + g.roll(200))},
			{Of: model.LimitUserGPUs, Value: int64(1 + g.roll(20))},
		}
	}
	return b
}

func drawRestored(g *gen) command.Body {
	return &command.Restored{Incarnation: model.Incarnation{2, byte(g.roll(200)), byte(g.roll(200))}}
}

func drawSetRetention(g *gen) command.Body {
	return &command.SetRetention{Retention: model.Retention{Jobs: uint32(g.roll(1000)), Age: time.Duration(1+g.roll(90)) * time.Minute}}
}

func drawSetLimit(g *gen) command.Body {
	limit := func() int64 { return int64(g.roll(40)) - 1 }
	scope := pick(g, model.ScopeKey{Kind: model.ScopeCluster}, model.ScopeKey{Kind: model.ScopeUser, Name: "alice"},
		model.ScopeKey{Kind: model.ScopeUser, Name: "bob"}, model.ScopeKey{Kind: model.ScopeProject, Name: "vision"})
	l := model.NoLimit(scope)
	if scope.Kind == model.ScopeCluster {
		l.UserGPUs = int64(g.roll(20))
	}
	switch g.roll(6) {
	case 0:
		l.GPUs, l.Live = limit(), limit()
	case 1:
		l.Queued = limit()
	case 2:
		l.GPUsPerJob = limit()
	case 4:
		l.CPUs = limit()
	case 3:
		l.RunTime = time.Duration(1+g.roll(5)) * time.Hour
	}
	return &command.SetLimit{Limit: l}
}

func drawAdjustLimit(g *gen) command.Body {
	b := &command.AdjustLimit{Scope: pick(g, model.ScopeKey{Kind: model.ScopeCluster}, model.ScopeKey{Kind: model.ScopeUser, Name: "alice"},
		model.ScopeKey{Kind: model.ScopeProject, Name: "vision"}, model.ScopeKey{Kind: model.ScopeProject, Name: "speech"})}
	set := func(f model.LimitField, v int64) { b.Set = append(b.Set, model.LimitValue{Of: f, Value: v}) }
	switch g.roll(5) {
	case 0:
		set(model.LimitGPUTime, int64(1+g.roll(9)))
		set(model.LimitPeriod, int64(time.Duration(1+g.roll(2))*time.Hour))
		set(model.LimitOver, int64(g.roll(4)/3))
	case 1:
		set(pick(g, model.LimitGPUTime, model.LimitReserved, model.LimitRunTime, model.LimitGPUs, model.LimitYields), model.Unlimited)
	case 2:
		set(model.LimitLive, int64(g.roll(9)))
		set(model.LimitCPUs, int64(g.roll(60))-1)
		set(model.LimitYields, int64(g.roll(2)))
	default:
		set(model.LimitReserved, int64(1+g.roll(9)))
	}
	return b
}

func drawSetPools(g *gen) command.Body {
	return &command.SetPools{Mode: model.PoolMode(g.roll(4)), Part: uint32(100 + g.roll(900))}
}

func drawSetDefaults(g *gen) command.Body {
	return &command.SetDefaults{Defaults: drawDefaults(g)}
}

func drawDefaults(g *gen) model.Defaults {
	return model.Defaults{
		Name: pick(g, "", "GPU-Cluster-01"), Class: model.Class(g.roll(5)),
		IdleStop: time.Duration(g.roll(2)) * time.Hour, CheckpointInterval: time.Duration(g.roll(2)) * 10 * time.Minute,
	}
}

func drawSetPeer(g *gen) command.Body {
	id := pick(g, "p1", "p2", "p3")
	return &command.SetPeer{Peer: model.Peer{
		ID: model.PeerID(id), RaftAddress: id + ".example:7000", APIAddress: id + ".example:10000", Level: uint32(1 + g.roll(int(command.Level))), Version: "v1",
	}}
}

func drawRetire(g *gen) command.Body {
	b := &command.Retire{ArchivedTo: g.s.Index}
	for k := range g.s.Ended.All() {
		if g.roll(3) == 0 {
			b.Jobs = append(b.Jobs, k.Job)
		}
		if len(b.Jobs) == 3 {
			break
		}
	}
	if len(b.Jobs) == 0 || g.roll(8) == 0 {
		b.Jobs = append(b.Jobs, anyJob(g))
	}
	return b
}

// crowd is how many jobs a generated cluster has before the generator ends some
// in place of submitting more.
const crowd = 24

func drawSubmit(g *gen) command.Body {
	switch {
	case g.s.Settings().Import.Open && g.roll(4) > 0:
		return drawImport(g)
	case g.s.Jobs.Len() > crowd && g.s.Ended.Len() > crowd/3:
		return drawRetire(g)
	case g.s.Jobs.Len() > crowd:
		return &command.Cancel{Job: anyJob(g), Task: model.AllTasks}
	}
	b := &command.Submit{Tasks: 1, Spec: model.Spec{
		Name: pick(g, "train", "eval"), User: pick(g, "alice", "bob", "carol"), Project: pick(g, "", "vision", "speech"),
		Class: model.Class(1 + g.roll(4)), Priority: uint8(g.roll(11)), Command: "python train.py --seed 7",
		GPUs: uint32(1 + g.roll(4)), OnLost: model.OnLost(1 + g.roll(3)), DisconnectGrace: 5 * time.Minute,
		Grace: 30 * time.Second, MaxRetries: uint32(g.roll(3)), Held: g.roll(10) == 0, Preemptible: g.roll(2) == 0,
	}}
	if g.roll(3) == 0 {
		b.Spec.TimeLimit, b.Spec.RetryOn = time.Duration(1+g.roll(5))*time.Hour, pick(g, "", "1", "75,137")
		b.Spec.Attached = time.Duration(g.roll(2)) * time.Minute
		b.Spec.IdleStop = time.Duration(g.roll(2)) * time.Hour
		b.Spec.Umask = pick(g, "", "0077")
	}
	if b.Spec.GPUs%2 == 0 && g.roll(3) == 0 {
		b.Spec.Nodes, b.Spec.Lead, b.Spec.Slurm = 2, g.roll(2) == 0, pick(g, "", `{"tasks":4}`)
	}
	if g.roll(12) == 0 {
		b.Spec.GPUModel, b.Spec.GPUMemoryMB = "H200", 100_000
	}
	if b.Spec.GPUs > 1 && g.roll(4) == 0 {
		b.Spec.MinGPUs = uint32(1 + g.roll(int(b.Spec.GPUs)-1))
	}
	drawCores(g, b)
	b.Spec.Placement = pick(g, "", "", "spread", "round_robin")
	switch g.roll(20) {
	case 0:
		b.Spec.Constraint = pick(g, "zone=a", "!spot,zone=a", "zone!=b")
	case 1:
		b.Spec.Nodelist, b.Spec.Exclude = pick(g, "", "n1,n2,n3"), pick(g, "", "n3")
	}
	if g.roll(6) == 0 {
		b.Tasks, b.Throttle = uint32(2+g.roll(5)), uint32(g.roll(3))
	}
	drawTurn(g, b)
	if g.roll(5) == 0 {
		b.Spec.Notify, b.Spec.WebhookURL = pick(g, model.JobNotices(), model.NoticeSet(0).With(model.NoticeJobCompleted)), "https://example.com/job"
	}
	if g.roll(4) == 0 {
		b.Script, b.Stdin = pick(g, "#!/bin/sh\necho one\n", "#!/bin/sh\necho two\n"), pick(g, "", "aGVsbG8=")
		b.Env = pick(g, nil, []string{"A=1", "B=2"}, []string{"LANG=C"})
		b.SubmitEnv = pick(g, nil, []string{"A=1", "B=2"}, []string{"HOME=/users/ann"})
	}
	return b
}

func drawPlace(g *gen) command.Body {
	var waiting []model.TaskKey
	if g.roll(5) == 0 {
		return drawPlaceOnCores(g)
	}
	for k := range g.s.Queue.All() {
		if k.Task.IsTurn() {
			continue
		}
		if waiting = append(waiting, k.Task); len(waiting) == 30 {
			break
		}
	}
	key := model.TaskKey{Job: anyJob(g)}
	if len(waiting) > 0 && g.roll(20) > 0 {
		key = pick(g, waiting...)
	}
	task, _ := g.s.Tasks.Get(key)
	job, _ := g.s.Jobs.Get(key.Job)
	b := &command.Place{Attempt: key.Attempt(task.Attempts + 1), Decided: g.s.Index}
	if b.Ranks = fit(g, job.Spec.GPUs, job.Spec.Nodes, key); len(b.Ranks) > 1 {
		b.Secret = model.Hash{1, byte(g.roll(256))}
	}
	switch g.roll(30) {
	case 0:
		b.Attempt.N++
	case 1:
		b.Decided++
	case 2:
		b.Ranks[0].Epoch++
	case 3:
		b.Ranks[0].Slots = b.Ranks[0].Slots[:1]
	case 4:
		b.Ranks = b.Ranks[:1]
		b.Ranks[0].Node = "n6"
	}
	return b
}

// fit returns a small scheduler: the first free slots, on so many nodes if asked.
func fit(g *gen, gpus, nodes uint32, who model.TaskKey) (out []command.Placement) {
	per := gpus
	if nodes > 0 {
		per = gpus / nodes
	}
	start := 1 + g.roll(6)
	for i := range 6 {
		id := model.NodeID(fmt.Sprintf("n%d", 1+(start+i)%6))
		slots := free(g, id, who)
		if n := min(gpus, per, uint32(len(slots))); n > 0 && (nodes == 0 || n == per) {
			out = append(out, command.Placement{Node: id, Epoch: epochOf(g, id), Slots: slots[:n]})
			gpus -= n
		}
	}
	if len(out) == 0 {
		id := anyNode(g)
		out = append(out, command.Placement{Node: id, Epoch: epochOf(g, id), Slots: []model.SlotKey{{GPU: gpuID(id, 0)}}})
	}
	return out
}

func free(g *gen, id model.NodeID, who model.TaskKey) (out []model.SlotKey) {
	for k := range g.s.NodeGPUs.From(model.AddressKey{Node: id}) {
		key := model.SlotKey{GPU: k.GPU}
		slot, _ := g.s.Slots.Get(key)
		claim, claimed := g.s.Claims.Get(key)
		if k.Node == id && slot.Owner == model.OwnerNone && (!claimed || claim.Beneficiary == who || g.roll(8) == 0) {
			out = append(out, key)
		}
	}
	return out
}

func drawPreempt(g *gen) command.Body {
	b := &command.Preempt{Until: g.at.Add(time.Duration(g.roll(300)) * time.Second), Beneficiary: model.TaskKey{Job: anyJob(g)}}
	for k := range g.s.Queue.All() {
		b.Beneficiary = k.Task
		if !k.Task.IsTurn() || g.roll(3) == 0 {
			break
		}
	}
	for range 1 + g.roll(2) {
		b.Victims = append(b.Victims, anyRank(g).Attempt())
	}
	for k := range g.s.Slots.All() {
		if g.roll(4) == 0 {
			b.Slots = append(b.Slots, k)
		}
	}
	switch {
	case g.roll(2) == 0:
		b.Slots = nil
	case len(b.Slots) > 0 && g.roll(4) == 0:
		b.Victims = nil
	}
	return b
}

func drawSetTuning(g *gen) command.Body {
	b := &command.SetTuning{Tuning: model.DefaultTuning()}
	b.Tuning.HalfLife = time.Duration(1+g.roll(300)) * time.Hour
	b.Tuning.Backfill = model.Backfill(1 + g.roll(3))
	b.Tuning.NoPreemption = g.roll(2) == 0
	b.Tuning.Placement = model.Strategy(g.roll(4))
	return b
}

func drawAdjustPolicy(g *gen) command.Body {
	b := &command.AdjustPolicy{Policy: pick(g, "", "fcfs", "fair_share")}
	b.Tuning = append(b.Tuning, model.TuningValue{Name: "depth", Value: strconv.Itoa(1 + g.roll(9))})
	if g.roll(2) == 0 {
		b.Tuning = append(b.Tuning, model.TuningValue{Name: "half_life", Value: (time.Duration(1+g.roll(300)) * time.Hour).String()})
	}
	if g.roll(3) == 0 {
		b.Limits = append(b.Limits, model.LimitValue{Of: model.LimitLive, Value: int64(3 + g.roll(9))})
	}
	return b
}

func drawSetWeight(g *gen) command.Body {
	scope := pick(g, model.ScopeKey{Kind: model.ScopeUser, Name: "alice"}, model.ScopeKey{Kind: model.ScopeProject, Name: "vision"})
	return &command.SetWeight{Weight: model.Weight{Scope: scope, Shares: uint32(50 + 50*g.roll(3))}}
}

func drawExpireClaims(g *gen) command.Body {
	b := &command.ExpireClaims{}
	for k := range g.s.Claims.All() {
		b.Slots = append(b.Slots, k)
	}
	if len(b.Slots) == 0 {
		b.Slots = append(b.Slots, model.SlotKey{GPU: gpuID(anyNode(g), 0)})
	}
	return b
}

func drawKillForeign(g *gen) command.Body {
	for _, s := range g.s.Slots.All() {
		if s.Owner == model.OwnerForeign {
			return &command.KillForeign{Slot: s.Key}
		}
	}
	return &command.KillForeign{Slot: model.SlotKey{GPU: gpuID(anyNode(g), 0)}}
}

func drawRankLost(g *gen) command.Body {
	key := anyRank(g)
	r, _ := g.s.Ranks.Get(key)
	l, _ := g.s.Leases.Get(r.Node)
	b := &command.RankLost{Rank: key, Epoch: epochOf(g, r.Node), Seq: l.Seq, Orphan: r.Orphan}
	if g.roll(15) == 0 {
		b.Orphan++
	}
	return b
}

func drawAllocate(g *gen) command.Body {
	g.next++
	id := allocationID(g.next)
	if g.roll(10) == 0 {
		id = anyAllocation(g)
	}
	b := &command.Allocate{
		ID: id, Service: "agents", Workload: "inference", User: pick(g, "alice", "svc"), Project: pick(g, "", "vision"),
		Class: model.Class(1 + g.roll(4)), Priority: 5, GPUs: uint32(1 + g.roll(2)),
		TTL: time.Duration(g.roll(3)) * time.Minute, Data: `{"agent":"7"}`,
	}
	if g.roll(12) == 0 {
		b.Constraint, b.Exclude = pick(g, "", "zone=a"), pick(g, "", "n1")
	}
	switch g.roll(8) {
	case 0:
		b.For, b.Webhook = pick(g, "17", "18", "a job of another"), pick(g, "", "https://example.org/hook")
	case 1:
		b.For, b.Job, b.TTL = "of a job", anyJob(g), 0
	case 2:
		b.ID = "" // it is numbered
	}
	b.Webhook = pick(g, "", "http://service:8080/gpu-allocated")
	return b
}

func drawGrant(g *gen) command.Body {
	id := anyAllocation(g)
	for _, waiting := range g.s.Waiting.All() {
		id = waiting
		break
	}
	a, _ := g.s.Allocations.Get(id)
	return &command.Grant{ID: id, Decided: g.s.Index, Placement: fit(g, a.GPUs, 1, model.TaskKey{})[0]}
}

func drawAllocationLost(g *gen) command.Body {
	id, l := someLease(g)
	b := &command.AllocationLost{ID: anyAllocation(g), Node: id, Epoch: l.Epoch, Seq: l.Seq}
	for _, s := range g.s.Slots.All() {
		if s.Owner == model.OwnerAllocation && g.roll(3) > 0 {
			l, _ = g.s.Leases.Get(s.Node)
			b.ID, b.Node, b.Epoch, b.Seq = s.Allocation, s.Node, l.Epoch, l.Seq
			break
		}
	}
	return b
}
