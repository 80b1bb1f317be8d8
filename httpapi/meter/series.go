package meter

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/tally"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/httpapi/view"
)

// MaxUsers bounds the users with metrics of their own; all others count as other.
const MaxUsers = 50

// ownJobs is the service under which attempts of jobs count among allocations.
const ownJobs = "jobs"

// allocations exposes the outcomes of allocations, of services and of jobs alike.
func (g *gauges) allocations(s *state.State) {
	const total = "gpu_orchestrator_allocations_total"
	const help = "Allocations over the cluster's life by service and outcome; attempts of jobs are those of the service " + ownJobs + "."
	counts := map[[2]string]uint64{{ownJobs, "allocated"}: s.Settings().Totals.Attempts}
	var granted uint64
	for k, n := range s.Tallies.From(tally.Key{Kind: tally.Service}) {
		if k.Kind != tally.Service {
			break
		}
		granted += n.Counts[tally.Granted]
		for step, status := range []string{"queued", "allocated", "canceled", "released", "expired", "lost"} {
			if n.Counts[step] > 0 {
				name := k.Name
				if !g.names {
					name = tally.Other
				}
				counts[[2]string{name, status}] += n.Counts[step]
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(counts), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		g.count(total, help, float64(counts[k]), "service", k[0], "status", k[1])
	}
	active := uint64(s.LiveTasks.Len())
	for _, a := range s.Allocations.All() {
		if a.State == model.AllocationActive {
			active++
		}
	}
	n := s.Settings().Totals
	use, _ := s.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	r := view.Resources(s)
	g.put("gpu_orchestrator_allocations_active", "Allocations that hold GPUs now: of services, and attempts of jobs.", float64(active))
	g.put("gpu_allocator_gpus_allocated_total", "GPUs that are allocated now.", float64(r.AllocatedGPUs))
	g.put("gpu_orchestrator_queue_depth", "Tasks of jobs and allocations that wait for GPUs.", float64(int(use.Queued)+s.Waiting.Len()))
	g.put("gpu_orchestrator_gpus_total", "GPUs of the cluster.", float64(r.TotalGPUs))
	g.put("gpu_orchestrator_gpus_available", "GPUs that are free, healthy and not reserved.", float64(r.AvailableGPUs))
	const scheduled = "Attempts and allocations that got GPUs (scheduled), and tasks by how they ended."
	for _, v := range []struct {
		status string
		count  uint64
	}{{"scheduled", n.Attempts + granted}, {"completed", n.Completed}, {"failed", n.Failed}, {"canceled", n.Canceled}, {"preempted", n.Preempted}} {
		g.count("gpu_scheduler_scheduled_total", scheduled, float64(v.count), "status", v.status)
	}
}

// spans exposes durations as histograms that are the same at every peer.
func (g *gauges) spans(s *state.State) {
	wait, _ := s.Tallies.Get(tally.Key{Kind: tally.Wait})
	g.histogram("gpu_scheduler_queue_wait_seconds", "Time from when tasks could have run to their first starts, and from the request of allocations to their GPUs.", &wait)
	for k, n := range s.Tallies.From(tally.Key{Kind: tally.Run}) {
		if k.Kind != tally.Run {
			break
		}
		g.histogram("berth_attempt_run_seconds", "Run time of attempts, by how they ended.", &n, "end", k.Name)
	}
	n := s.Settings().Totals
	g.count("berth_gpu_used_seconds_total", "GPU time of ended ranks.", float64(n.GPUSeconds))
	g.put("berth_gpu_wasted_seconds", "GPU time of attempts that did not complete, from their last checkpoints on; it falls when a lost attempt has completed after all.",
		float64(n.Wasted))
}

func (g *gauges) histogram(name, help string, n *tally.Row, label ...string) {
	buckets := map[float64]uint64{}
	sum := uint64(0)
	for i, most := range tally.Spans() {
		sum += n.Counts[i]
		buckets[most.Seconds()] = sum
	}
	names, values := pairs(label)
	g.to <- prometheus.MustNewConstHistogram(prometheus.NewDesc(name, help, names, nil), n.Total(), n.Sum.Seconds(), buckets, values...)
}

// users exposes the GPUs of users: the users with the most, and the sum of the others.
func (g *gauges) users(s *state.State) {
	var list []model.Usage
	for k, u := range s.Usage.All() {
		if k.Kind == model.ScopeUser {
			list = append(list, u)
		}
	}
	slices.SortStableFunc(list, func(a, b model.Usage) int { return int(b.GPUs+b.Queued) - int(a.GPUs+a.Queued) })
	other, most := model.Usage{Scope: model.ScopeKey{Name: tally.Other}}, min(len(list), MaxUsers)
	if !g.names {
		most = 0
	}
	for _, u := range list[most:] {
		other.GPUs, other.Queued = other.GPUs+u.GPUs, other.Queued+u.Queued
	}
	list = slices.DeleteFunc(list[:most], func(u model.Usage) bool {
		if u.Scope.Name != other.Scope.Name {
			return false
		}
		other.GPUs, other.Queued = other.GPUs+u.GPUs, other.Queued+u.Queued
		return true
	})
	for _, u := range append(list, other) {
		g.put("berth_user_gpus", "GPUs that a user holds; users after the 50 with the most count as other.", float64(u.GPUs), "user", u.Scope.Name)
		g.put("berth_user_queued_tasks", "Tasks of a user that wait.", float64(u.Queued), "user", u.Scope.Name)
	}
}

// devices exposes every GPU: its properties, its holder, and its last telemetry.
func (c *standings) devices(g *gauges, s *state.State) {
	measured := map[model.GPUID]model.Sample{}
	for _, r := range c.Samples().Readings {
		measured[r.Sample.GPU] = r.Sample
	}
	for k := range s.NodeGPUs.All() {
		d, _ := s.GPUs.Get(k.GPU)
		slot, _ := s.Slots.Get(model.SlotKey{GPU: k.GPU})
		label := []string{"node", string(k.Node), "gpu", strconv.FormatUint(uint64(k.Index), 10), "uuid", string(k.GPU), "model", d.Model}
		g.put("gpu_orchestrator_gpu_memory_total_mb", "Memory of a GPU, in MiB.", float64(d.MemoryMB), label...)
		g.put("berth_gpu_allocated", "1 while a GPU has a holder, 0 while it is idle.", number(slot.Owner != model.OwnerNone), label...)
		g.put("berth_gpu_usable", "1 while work may be placed on a GPU.", number(d.Usable()), label...)
		m, known := measured[k.GPU]
		if !known {
			continue
		}
		g.put("gpu_orchestrator_gpu_utilization_percent", "Part of the last moments in which a GPU was busy.", float64(m.Utilization), label...)
		g.put("gpu_orchestrator_gpu_memory_used_mb", "Memory of a GPU that is in use, in MiB.", float64(m.MemoryUsedMB), label...)
		g.put("gpu_orchestrator_gpu_temperature_celsius", "Temperature of a GPU.", float64(m.Temperature), label...)
		g.put("gpu_orchestrator_gpu_power_draw_watts", "Power that a GPU draws.", float64(m.PowerWatts), label...)
		g.put("berth_gpu_idle_held_seconds", "Time for which the job that holds a GPU has left it at 0 %.", m.Unused.Seconds(), label...)
	}
}

// leader exposes the leader, and the state of the nodes.
func (c *standings) leader(g *gauges, s *state.State) {
	if l, _ := c.Members.Leader(); l.ID != "" {
		g.put("berth_leader_info", "1 for the leader, as far as this peer knows.", 1, "leader", string(l.ID))
	}
	silent, degraded := 0, 0
	for id, n := range s.Nodes.All() {
		if n.Status != model.NodeUp {
			silent++
		}
		if n.Degraded() {
			degraded++
		}
		g.put("berth_node_up", "1 while a GPU host is in contact.", number(n.Status == model.NodeUp), "node", string(id))
		g.put("berth_node_degraded", "1 while a GPU host is in contact and its agent cannot start jobs.", number(n.Degraded()), "node", string(id))
	}
	g.put("berth_nodes_degraded", "GPU hosts that are in contact and whose agents cannot start jobs.", float64(degraded))
	g.put("berth_nodes_silent", "GPU hosts that are not in contact.", float64(silent))
	g.certificates(s)
	g.put("berth_placements_running", "1 while jobs are started.", number(s.Settings().Running && !s.Settings().Standstill))
}

// certificates exposes the ends of the certificates of members: a member that is away does not renew its own.
func (g *gauges) certificates(s *state.State) {
	for k, c := range s.Certificates.All() {
		role, there := "node", s.Nodes.Has(model.NodeID(k.Name))
		if k.Role == model.RolePeer {
			role, there = "peer", s.Peers.Has(model.PeerID(k.Name))
		}
		if there && !c.Revoked {
			g.put("berth_member_certificate_expiry_timestamp_seconds", "When the newest certificate of a member expires, in seconds since 1970.",
				float64(c.Expires.Time().Unix()), "role", role, "member", k.Name)
		}
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// pairs separates names and values of labels.
func pairs(label []string) (names, values []string) {
	for i := 0; i+1 < len(label); i += 2 {
		names, values = append(names, label[i]), append(values, label[i+1])
	}
	return names, values
}

// predicted exposes the accuracy.
func (g *gauges) predicted(s *state.State) {
	for _, p := range view.Predictions(s) {
		g.count("berth_prediction_attempts_total", "Attempts that ended by themselves after their run time was predicted, by the user's estimate or by earlier runs.",
			float64(p.Attempts), "source", p.Source)
		g.count("berth_prediction_within_factor_two_total", "Predictions that were right to a factor of two.",
			float64(p.WithinFactorTwo), "source", p.Source)
		g.count("berth_prediction_error_doublings_total", "Sum of the errors of predictions, in both directions: 1 is a factor of two.",
			p.ErrorDoublings, "source", p.Source)
	}
}
