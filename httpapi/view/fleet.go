package view

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/ledger"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Resources counts GPUs.
func Resources(s *state.State) (r wire.Resources) {
	for _, u := range s.NodeUse.All() {
		r.TotalGPUs += int64(u.All)
		r.AvailableGPUs += int64(u.Free)
		r.AllocatedGPUs += int64(u.Owned)
		r.UnhealthyGPUs += int64(u.Unhealthy)
	}
	for id, g := range s.GPUs.All() {
		if away(s, id, &g) {
			r.TotalGPUs--
			r.UnhealthyGPUs--
		}
	}
	return r
}

// away reports whether a GPU is missing and has no holder: it is not counted.
func away(s *state.State, id model.GPUID, g *model.GPU) bool {
	slot, _ := s.Slots.Get(model.SlotKey{GPU: id})
	return g.Health == model.HealthMissing && slot.Owner == model.OwnerNone
}

// ClusterStatus returns how many GPUs there are, and how many of them are in use.
func ClusterStatus(s *state.State) wire.ClusterStatus {
	r := Resources(s)
	out := wire.ClusterStatus{
		TotalGPUs: r.TotalGPUs, AvailableGPUs: r.AvailableGPUs, AllocatedGPUs: r.AllocatedGPUs, UnhealthyGPUs: r.UnhealthyGPUs,
	}
	if healthy := r.TotalGPUs - r.UnhealthyGPUs; healthy > 0 {
		out.UtilizationPercent = Tenths(100 * float64(r.AllocatedGPUs) / float64(healthy))
	}
	return out
}

// Tenths rounds to one digit.
func Tenths(v float64) float64 { return math.Round(v*10) / 10 }

// Readings is the newest telemetry by GPU.
type Readings map[model.GPUID]agentwire.Reading

// ReadingsOf returns readings by GPU.
func ReadingsOf(list []agentwire.Reading) Readings {
	out := make(Readings, len(list))
	for _, r := range list {
		out[r.Sample.GPU] = r
	}
	return out
}

// Busy returns the mean utilization of the measured GPUs, in percent; 0 without telemetry.
func (m Readings) Busy() (busy float64) {
	for _, r := range m { // order-free: utilizations are whole numbers
		busy += float64(r.Sample.Utilization)
	}
	if len(m) == 0 {
		return 0
	}
	return Tenths(busy / float64(len(m)))
}

// Nodes returns nodes with what was measured there; those that have left are left out.
func Nodes(s *state.State, now model.Time, measured Readings, ids []model.NodeID) []wire.Node {
	jobs := map[model.NodeID]int64{}
	for k := range s.NodeRanks.All() {
		jobs[k.Node]++
	}
	list := make([]wire.Node, 0, len(ids))
	books := state.OpenBooks(s, now)
	for _, id := range ids {
		n, found := s.Nodes.Get(id)
		if !found {
			continue
		}
		list = append(list, nodeOf(s, &n, measured))
		list[len(list)-1].Jobs = jobs[id]
		list[len(list)-1].Reservations = onNode(s, id, books, now)
	}
	return list
}

// AllNodes returns the ids of all nodes, in order.
func AllNodes(s *state.State) []model.NodeID {
	ids := make([]model.NodeID, 0, s.Nodes.Len())
	for id := range s.Nodes.All() {
		ids = append(ids, id)
	}
	return ids
}

// NodeState returns the state of a node in lists.
func NodeState(n *model.Node) string {
	switch {
	case n.Status == model.NodeUp && n.Mode != model.ModeOpen:
		return n.Mode.String()
	case n.Degraded():
		return "degraded"
	}
	return n.Status.String()
}

// NodeStates returns the names of the states of nodes.
func NodeStates() []string {
	return []string{
		model.NodeUp.String(), model.NodeSuspect.String(), model.NodeDead.String(), model.ModeCordoned.String(), model.ModeDraining.String(), "degraded",
	}
}

// MostOnNode is how many jobs [View.Node] lists.
const MostOnNode = 1000

// Node returns a node with what was measured there and the jobs that run there; false: there is none.
func (v *View) Node(id model.NodeID, readings []agentwire.Reading) (*wire.NodeDetail, bool) {
	n, found := v.State.Nodes.Get(id)
	if !found {
		return nil, false
	}
	out := &wire.NodeDetail{Node: nodeOf(v.State, &n, ReadingsOf(readings)), Running: []wire.Job{}}
	out.Reservations = onNode(v.State, id, state.OpenBooks(v.State, v.Now), v.Now)
	var before model.JobID
	for k := range v.State.NodeRanks.From(state.NodeRankKey{Node: id}) {
		if k.Node != id {
			break
		}
		if out.Jobs++; k.Rank.Job == before || len(out.Running) == MostOnNode {
			continue
		}
		before = k.Rank.Job
		j, _ := v.State.Jobs.Get(before)
		out.Running = append(out.Running, v.Job(&j))
	}
	return out, true
}

func nodeOf(s *state.State, n *model.Node, measured Readings) wire.Node {
	lease, _ := s.Leases.Get(n.ID)
	use, _ := s.NodeUse.Get(n.ID)
	room, held := s.CPURoom(n)
	out := wire.Node{
		ID: string(n.ID), Hostname: n.Hostname, State: NodeState(n), Reason: n.ModeReason, Version: n.Version,
		CPUs: int64(n.CPUs), MemoryGB: state.HostGigabytes(n.MemoryMB), GPUCount: int64(use.All), FreeGPUs: int64(use.Free),
		Epoch: int64(n.Epoch), Features: n.Features, Accounts: n.Accounts.String(), Account: n.Account,
		CPURoom: int64(room.CPUs), CPUsHeld: int64(held.CPUs), MemoryRoom: state.HostGigabytes(room.MemoryMB),
		MemoryHeld: state.HostGigabytes(held.MemoryMB),
		Registered: n.Registered.Time(), LastSeen: lease.At.Time(), GPUs: []wire.GPU{}, Health: "ok",
	}
	if n.Degraded() {
		out.Reason = strings.Join(append(nonEmpty(n.ModeReason), n.Why()), "; ")
		if n.Rests > 0 {
			out.Reason += "; no other job is tried there before " + n.Rests.Time().Format(time.RFC3339)
		}
	}
	for _, l := range n.Is() {
		if out.Labels == nil {
			out.Labels = wire.Labels{}
		}
		out.Labels[l.Key] = l.Value
	}
	sick := 0
	for k := range s.NodeGPUs.From(model.AddressKey{Node: n.ID}) {
		if k.Node != n.ID {
			break
		}
		g, _ := s.GPUs.Get(k.GPU)
		if !g.Usable() {
			sick++
		}
		if out.GPUType == "" {
			out.GPUType = g.Model
		}
		if away(s, k.GPU, &g) {
			out.GPUCount--
		}
		out.GPUs = append(out.GPUs, gpuOf(s, &g, measured))
	}
	if sick > 0 {
		out.Health = strconv.Itoa(sick) + " of " + strconv.Itoa(len(out.GPUs)) + " GPUs out of service"
	}
	if n.Degraded() {
		out.Health = "cannot start jobs"
	}
	return out
}

// nonEmpty returns the text in a list, or an empty list for an empty text.
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func gpuOf(s *state.State, g *model.GPU, measured Readings) wire.GPU {
	out := wire.GPU{
		Index: int64(g.Index), UUID: string(g.ID), Type: g.Model, MemoryGB: Gigabytes(g.MemoryMB),
		Health: g.Health.String(), Reason: g.Why,
	}
	if g.Mode != model.ModeOpen {
		out.Mode, out.ModeReason = g.Mode.String(), g.ModeReason
	}
	owner(s, g, &out)
	if r, found := measured[g.ID]; found {
		age := Seconds(r.Age)
		out.AgeSeconds = &age
		out.UtilizationPercent, out.MemoryUsedGB = float64(r.Sample.Utilization), Gigabytes(r.Sample.MemoryUsedMB)
		out.Warning = r.Sample.Warning
		out.TemperatureCelsius, out.PowerWatts = float64(r.Sample.Temperature), float64(r.Sample.PowerWatts)
	}
	return out
}

// owner adds the holder of a GPU.
func owner(s *state.State, g *model.GPU, out *wire.GPU) {
	slot, _ := s.Slots.Get(model.SlotKey{GPU: g.ID})
	switch slot.Owner {
	case model.OwnerAttempt, model.OwnerCleaning, model.OwnerForeign:
		out.State = slot.Owner.String()
		if slot.Owner == model.OwnerAttempt {
			out.State = "allocated"
		}
	case model.OwnerAllocation:
		out.State = "allocated"
	case model.OwnerNone:
		out.State = "free"
		if s.Claims.Has(slot.Key) {
			out.State = "claimed"
		}
		switch {
		case !g.Health.Usable():
			out.State = "unhealthy"
		case g.Mode != model.ModeOpen:
			out.State = g.Mode.String()
		}
		return
	}
	if slot.Allocation != "" {
		a, _ := s.Allocations.Get(slot.Allocation)
		out.AllocatedTo, out.User = cmp.Or(a.For, string(slot.Allocation)), a.User
		return
	}
	if slot.Owner == model.OwnerForeign {
		out.AllocatedTo = slot.Rank.Attempt().TaskKey().String()
		return
	}
	if job, found := s.Jobs.Get(slot.Rank.Job); found {
		out.AllocatedTo, out.User = slot.Rank.Attempt().TaskKey().String(), job.Spec.User
	}
}

// Gigabytes converts MB of a GPU to GB of 1,024 MB, as drivers report memory.
func Gigabytes(mb uint32) float64 { return Tenths(float64(mb) / 1024) }

// Reservation converts a reservation to the API's form.
func Reservation(books *ledger.Books, b *model.Booking, now model.Time) wire.Reservation {
	out := wire.Reservation{
		ID: b.ID.String(), Kind: b.Kind.String(), GPUs: int64(b.GPUs), GPUType: b.Model, Start: b.Start.Time(), End: b.End.Time(),
		State: "planned", Short: int64(books.Short(b.ID)), Reason: b.Note, CreatedBy: b.By, CreatedAt: b.Made.Time(),
	}
	switch {
	case b.End <= now:
		out.State = "over"
	case b.Start <= now:
		out.State = "active"
	}
	switch b.Owner.Kind {
	case model.ScopeUser:
		out.User = b.Owner.Name
	case model.ScopeProject:
		out.Project = b.Owner.Name
	case model.ScopeCluster:
	}
	for _, id := range b.NodeIDs() {
		out.Nodes = append(out.Nodes, string(id))
	}
	return out
}

// onNode returns the reservations that name a node, by their start.
func onNode(s *state.State, id model.NodeID, books *ledger.Books, now model.Time) (out []wire.Reservation) {
	for _, b := range s.Bookings.All() {
		if slices.Contains(b.NodeIDs(), id) {
			out = append(out, Reservation(books, &b, now))
		}
	}
	slices.SortStableFunc(out, func(x, y wire.Reservation) int { return x.Start.Compare(y.Start) })
	return out
}
