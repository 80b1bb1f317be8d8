package apply

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/table"
)

// dice draws numbers from 0 to n-1: from a seed, from rapid, or from a fuzzer.
type dice interface{ roll(n int) int }

type seedDice struct{ *rand.Rand }

func (d seedDice) roll(n int) int { return d.IntN(n) }

func seeded(seed uint64) dice { return seedDice{rand.New(rand.NewPCG(seed, 7))} }

type rapidDice struct{ *rapid.T }

func (d rapidDice) roll(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "n") }

// gen draws log entries that mean something to the state that they meet: most
// name what is there and what may happen next, some are late, doubled or wrong.
type gen struct {
	dice
	s     state.State
	at    model.Time
	sent  []command.Command // with request ids, to be sent again
	total int               // of the makers' weights
	next  int               // number of the next request id or allocation
}

// genEpoch is when generated logs begin.
const genEpoch = model.Time(1_790_000_000_000_000_000)

func newGen(d dice) *gen {
	g := &gen{dice: d, at: genEpoch}
	for _, m := range makers {
		g.total += m.weight
	}
	return g
}

// maker draws one body of a kind.
type maker struct {
	kind   command.Kind
	weight int
	draw   func(*gen) command.Body
}

var makers = []maker{
	{command.KindBootstrap, 1, drawBootstrap},
	{command.KindRestored, 1, drawRestored},
	{command.KindResume, 20, func(*gen) command.Body { return &command.Resume{} }},
	{command.KindAdvanceClock, 2, func(*gen) command.Body { return &command.AdvanceClock{} }},
	{command.KindRaiseLevel, 12, func(g *gen) command.Body {
		return &command.RaiseLevel{Level: uint32(1 + g.roll(int(command.Level)))}
	}},
	{command.KindLockRestart, 8, func(g *gen) command.Body {
		b := &command.LockRestart{Peer: model.PeerID(pick(g, "p1", "p2", "p3")), Key: pick(g, "a", "b"), For: time.Duration(1+g.roll(90)) * time.Second}
		if g.roll(2) == 0 {
			b.For = 0
		}
		return b
	}},
	{command.KindSetRunning, 8, func(g *gen) command.Body { return &command.SetRunning{Running: g.roll(8) > 0} }},
	{command.KindSetPolicy, 2, func(g *gen) command.Body { return &command.SetPolicy{Policy: pick(g, "fcfs", "fair_share")} }},
	{command.KindSetTuning, 2, drawSetTuning},
	{command.KindAdjustPolicy, 4, drawAdjustPolicy},
	{command.KindSetWeight, 2, drawSetWeight},
	{command.KindSetRetention, 2, drawSetRetention},
	{command.KindSetLimit, 8, drawSetLimit},
	{command.KindAdjustLimit, 12, drawAdjustLimit},
	{command.KindSetPools, 6, drawSetPools},
	{command.KindSetDefaults, 2, drawSetDefaults},
	{command.KindSetPeer, 3, drawSetPeer},
	{command.KindDropPeer, 2, func(g *gen) command.Body { return &command.DropPeer{ID: model.PeerID(pick(g, "p1", "p2", "p3"))} }},
	{command.KindCutRequests, 8, func(g *gen) command.Body {
		return &command.CutRequests{Before: g.s.Settings().Clock.Add(time.Duration(g.roll(12)-10) * time.Minute)}
	}},
	{command.KindRetire, 20, drawRetire},

	{command.KindSubmit, 110, drawSubmit},
	{command.KindCancel, 40, func(g *gen) command.Body {
		job, task := target(g)
		return &command.Cancel{Job: job, Task: task, Tasks: some(g, task), Note: pick(g, "", "no longer needed")}
	}},
	{command.KindSetPriority, 12, func(g *gen) command.Body {
		job, _ := target(g)
		if other, _ := target(g); other != job && g.roll(3) == 0 {
			return &command.SetPriority{Job: job, Before: other}
		}
		return &command.SetPriority{Job: job, Class: model.Class(1 + g.roll(4)), Priority: uint8(g.roll(11))}
	}},
	{command.KindHold, 10, func(g *gen) command.Body {
		job, task := target(g)
		return &command.Hold{Job: job, Task: task, Tasks: some(g, task), Note: pick(g, "", "wait for data")}
	}},
	{command.KindRelease, 25, func(g *gen) command.Body {
		job, task := target(g)
		return &command.Release{Job: job, Task: task, Tasks: some(g, task)}
	}},
	{command.KindRequeue, 10, func(g *gen) command.Body {
		job, task := target(g)
		if g.roll(2) == 0 { // one that runs
			job, task = anyRank(g).Job, model.AllTasks
		}
		return &command.Requeue{Job: job, Task: task, Tasks: some(g, task), Note: pick(g, "", "again"), Hold: g.roll(4) == 0}
	}},
	{command.KindExtend, 12, func(g *gen) command.Body {
		job, _ := target(g)
		b := &command.Extend{Job: job, TimeLimit: time.Duration(1+g.roll(20)) * time.Hour}
		if g.roll(2) == 0 {
			b.TimeLimit, b.By = 0, b.TimeLimit
		}
		return b
	}},
	{command.KindPurge, 15, func(g *gen) command.Body { return &command.Purge{Job: anyEnded(g)} }},

	{command.KindSettle, 40, drawSettle},
	{command.KindDropDependencies, 8, func(g *gen) command.Body {
		return &command.DropDependencies{Job: anyWaiting(g), Note: pick(g, "", "now")}
	}},
	{command.KindOverdue, 12, drawOverdue},

	{command.KindPlace, 200, drawPlace},
	{command.KindPreempt, 15, drawPreempt},
	{command.KindSteer, 3, func(g *gen) command.Body {
		return &command.Steer{Steer: model.Steer{Gangs: uint32(g.roll(4)), Credit: int64(g.roll(9000)), At: g.at}}
	}},
	{command.KindSuspend, 15, func(g *gen) command.Body {
		return &command.Suspend{Attempts: []model.AttemptKey{anyRank(g).Attempt()}, Decided: g.s.Index}
	}},
	{command.KindBook, 12, drawBook},
	{command.KindTurnBookings, 20, drawTurnBookings},
	{command.KindCancelBooking, 4, func(g *gen) command.Body { return &command.CancelBooking{ID: anyBooking(g)} }},
	{command.KindSetBookingCaps, 2, drawSetBookingCaps},
	{command.KindExpireClaims, 10, drawExpireClaims},
	{command.KindStartOverdue, 10, func(g *gen) command.Body {
		return &command.StartOverdue{Attempt: anyRank(g).Attempt()}
	}},

	{command.KindRegister, 60, drawRegister},
	{command.KindRenew, 90, drawRenew},
	{command.KindReport, 260, drawReport},
	{command.KindInventory, 20, drawInventory},
	{command.KindSetNodeMode, 15, func(g *gen) command.Body {
		return &command.SetNodeMode{Node: anyNode(g), Mode: model.NodeMode(max(0, g.roll(9)-6)), Note: pick(g, "", "service")}
	}},
	{command.KindConfirmDead, 8, func(g *gen) command.Body {
		id := anyNode(g)
		return &command.ConfirmDead{Node: id, Epoch: epochOf(g, id), Note: "the rack burns"}
	}},
	{command.KindRetireNode, 4, func(g *gen) command.Body { return &command.RetireNode{Node: anyNode(g)} }},
	{command.KindKillForeign, 6, drawKillForeign},
	{command.KindAdopt, 12, drawAdopt},
	{command.KindSetGPUMode, 12, func(g *gen) command.Body {
		return &command.SetGPUMode{GPU: gpuID(anyNode(g), g.roll(3)), Mode: model.NodeMode(max(0, g.roll(9)-6)), Note: pick(g, "", "fan")}
	}},

	{command.KindSetNodeLabels, 8, func(g *gen) command.Body {
		return &command.SetNodeLabels{Node: anyNode(g), Changes: pick(g, "zone=a", "zone=b", "zone-", "spot", "spot-,zone=b")}
	}},

	{command.KindSuspect, 25, func(g *gen) command.Body {
		id, l := someLease(g)
		return &command.Suspect{Node: id, Epoch: l.Epoch, Seq: l.Seq}
	}},
	{command.KindRankLost, 25, drawRankLost},
	{command.KindAllocationLost, 10, drawAllocationLost},

	{command.KindAllocate, 25, drawAllocate},
	{command.KindGrant, 35, drawGrant},
	{command.KindRenewAllocation, 10, func(g *gen) command.Body {
		return &command.RenewAllocation{ID: anyAllocation(g), TTL: time.Duration(g.roll(4)) * time.Minute}
	}},
	{command.KindReleaseAllocation, 12, func(g *gen) command.Body { return &command.ReleaseAllocation{ID: anyAllocation(g)} }},
	{command.KindExpireAllocations, 15, func(g *gen) command.Body {
		return &command.ExpireAllocations{IDs: []model.AllocationID{anyAllocation(g), anyAllocation(g)}}
	}},

	{command.KindFoundAuth, 2, drawFoundAuth},
	{command.KindMakeToken, 8, drawMakeToken},
	{command.KindDropTokens, 4, drawDropTokens},
	{command.KindMakeSession, 16, drawMakeSession},
	{command.KindRenewSession, 6, func(g *gen) command.Body { return &command.RenewSession{Hash: aSession(g)} }},
	{command.KindRecordCertificate, 8, drawRecordCertificate},
	{command.KindBeginRotation, 4, drawBeginRotation},
	{command.KindAdvanceRotation, 25, func(g *gen) command.Body { return &command.AdvanceRotation{Revision: aRevision(g)} }},
	{command.KindAbortRotation, 1, func(*gen) command.Body { return &command.AbortRotation{} }},
	{command.KindConfirmTrust, 12, drawConfirmTrust},
	{command.KindRevokeCertificate, 2, func(g *gen) command.Body { return &command.RevokeCertificate{Member: anyMember(g)} }},
	{command.KindSetUser, 6, drawSetUser},
	{command.KindRemoveUser, 3, func(g *gen) command.Body { return &command.RemoveUser{User: anybody(g)} }},
	{command.KindSetWebhook, 8, drawSetWebhook},
	{command.KindDropWebhook, 3, func(g *gen) command.Body { return &command.DropWebhook{ID: anyWebhook(g)} }},
	{command.KindTestWebhook, 4, func(g *gen) command.Body { return &command.TestWebhook{ID: anyWebhook(g)} }},
	{command.KindMarkDeliveries, 60, drawMarkDeliveries},
	{command.KindSetNotify, 3, func(g *gen) command.Body {
		return &command.SetNotify{Notify: model.Notify{Backlog: uint32(g.roll(20)), Allow: pick(g, "", "example.com")}}
	}},
	{command.KindNearLimit, 15, func(g *gen) command.Body {
		return &command.NearLimit{Attempts: []model.AttemptKey{anyRank(g).Attempt()}}
	}},

	{command.KindBeginImport, 4, drawBeginImport},
	{command.KindImportJobs, 4, drawImportJobs},
	{command.KindEndImport, 4, drawEndImport},
}

// entry draws the next log entry for a state: its stamp and one to five commands.
func (g *gen) entry(s state.State) (model.Time, []command.Command) {
	g.s = s
	g.at = g.at.Add(time.Duration(g.roll(4000)) * time.Millisecond)
	at := g.at
	switch g.roll(60) {
	case 0:
		at = at.Add(-time.Minute)
	case 1:
		at = at.Add(10 * time.Minute)
	}
	if s.Settings().Incarnation.IsZero() {
		return at, []command.Command{g.wrap(drawBootstrap(g))}
	}
	if set := s.Settings(); set.Totals.Submitted == 0 && set.Import.ID.IsZero() && g.roll(2) == 0 { // the only time for it
		return at, []command.Command{g.wrap(drawBeginImport(g))}
	}
	out := make([]command.Command, 0, 5)
	for range 1 + g.roll(5) {
		out = append(out, g.command())
	}
	return at, out
}

func (g *gen) command() command.Command {
	if len(g.sent) > 0 && g.roll(12) == 0 {
		return g.sent[g.roll(len(g.sent))] // sent again, as it was
	}
	n := g.roll(g.total)
	for _, m := range makers {
		if n -= m.weight; n < 0 {
			return g.request(g.wrap(m.draw(g)))
		}
	}
	return g.wrap(&command.Resume{})
}

func (g *gen) wrap(b command.Body) command.Command {
	c, err := command.New(pick(g, "user:alice", "user:bob", "peer:p1"), b)
	if err != nil {
		c.Err = fmt.Errorf("generated %s: %w", b.Kind(), err)
	}
	return c
}

// request puts some commands under a request id: mostly a new one, of both sorts,
// sometimes one that was used for something else.
func (g *gen) request(c command.Command) command.Command {
	if g.roll(4) > 0 || c.Err != nil {
		return c
	}
	g.next++
	id := fmt.Sprintf("request-%d", g.next)
	switch {
	case g.roll(6) == 0 && len(g.sent) > 0:
		old := g.sent[g.roll(len(g.sent))]
		id, c.Actor = old.RequestID, old.Actor
	case g.roll(2) == 0:
		id = uuidAt(g.at.Add(-time.Duration(g.roll(12))*time.Minute), g.next)
	}
	c, err := c.WithRequest(id)
	c.Err = err
	if g.sent = append(g.sent, c); len(g.sent) > 64 {
		g.sent = g.sent[1:]
	}
	return c
}

func uuidAt(t model.Time, n int) string {
	ms := uint64(t) / 1_000_000
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}

func pick[T any](g *gen, of ...T) T { return of[g.roll(len(of))] }

// first returns the first key at or after k, or else the first of all.
func first[K table.Key[K], R any](t table.Table[K, R], k K) (found K, ok bool) {
	for at := range t.From(k) {
		return at, true
	}
	for at := range t.All() {
		return at, true
	}
	return found, false
}

// target draws a job that is there, or not quite, and a task of it or all.
func target(g *gen) (model.JobID, int64) {
	job := anyJob(g)
	if g.roll(3) > 0 {
		return job, model.AllTasks
	}
	return job, int64(g.roll(4))
}

// some draws some tasks of those that stand for all.
func some(g *gen, task int64) string {
	if task == model.AllTasks && g.roll(5) == 0 {
		return pick(g, "0", "1-3", "0-4:2,9", "40")
	}
	return ""
}

func anyJob(g *gen) model.JobID {
	id := model.JobID(1 + g.roll(int(g.s.Settings().NextJob)+1))
	if g.roll(20) == 0 {
		return id
	}
	if at, ok := first(g.s.Jobs, id); ok {
		return at
	}
	return id
}

func anyRank(g *gen) model.RankKey {
	if g.roll(4) > 0 {
		if k, ok := first(g.s.NodeRanks, state.NodeRankKey{Node: anyNode(g), Rank: model.RankKey{Job: anyJob(g)}}); ok {
			return k.Rank
		}
	}
	if k, ok := first(g.s.Ranks, model.RankKey{Job: anyJob(g)}); ok {
		return k
	}
	return model.RankKey{Job: 1, N: 1}
}

func anyNode(g *gen) model.NodeID { return model.NodeID(fmt.Sprintf("n%d", 1+g.roll(6))) }

// epochOf returns the node's epoch, or now and then an older one.
func epochOf(g *gen, id model.NodeID) uint64 {
	n, _ := g.s.Nodes.Get(id)
	if g.roll(12) == 0 && n.Epoch > 0 {
		return n.Epoch - 1
	}
	return n.Epoch
}

func incarnationOf(g *gen) model.Incarnation {
	if g.roll(40) == 0 {
		return model.Incarnation{0xee}
	}
	return g.s.Settings().Incarnation
}

func someLease(g *gen) (model.NodeID, model.Lease) {
	id := anyNode(g)
	l, _ := g.s.Leases.Get(id)
	if g.roll(10) == 0 {
		l.Seq++
	}
	return id, l
}

func anyAllocation(g *gen) model.AllocationID {
	if at, ok := first(g.s.Allocations, allocationID(g.roll(g.next+1))); ok && g.roll(10) > 0 {
		return at
	}
	return allocationID(g.roll(g.next + 1))
}

func allocationID(n int) model.AllocationID { return model.AllocationID(fmt.Sprintf("alloc-%06d", n)) }

// raceScale makes long tests shorter under the race detector and, less so, with -short.
func raceScale(n int) int {
	switch {
	case underRace:
		return n / 10
	case testing.Short():
		return n / 3
	}
	return n
}
