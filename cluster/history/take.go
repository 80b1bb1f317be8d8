package history

import (
	"iter"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

const (
	// waitSpan is the time before a record in which the tasks have started whose waits count.
	waitSpan = time.Hour
	// idleAfter is for how long a job must have left a GPU at 0 % for the GPU to count as idle.
	idleAfter = time.Minute
)

// Take returns the values of this moment, from the state and the newest samples of GPUs, which should be a few seconds
// old at most.
func Take(s *state.State, samples []model.Sample, now model.Time) Values {
	v := noValues()
	countGPUs(s, samples, &v)
	measure(s, samples, &v)
	use, _ := s.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	v.set(JobsWaiting, float64(use.Queued))
	v.set(JobsRunning, float64(use.Live)+float64(use.CPULive))
	if waits := waitsOf(s, now); len(waits) > 0 {
		v.set(WaitP50, percentile(waits, 50).Seconds())
		v.set(WaitP95, percentile(waits, 95).Seconds())
	}
	v.set(OldestWait, oldest(s, now).Seconds())
	ready := 0
	for _, n := range s.Nodes.All() {
		if n.Status == model.NodeUp && !n.Degraded() {
			ready++
		}
	}
	v.set(Nodes, float64(s.Nodes.Len()))
	v.set(NodesReady, float64(ready))
	return v
}

// countGPUs counts the GPUs as GET /cluster/gpu-status does: one that is missing and has no holder is not counted.
func countGPUs(s *state.State, samples []model.Sample, v *Values) {
	var all, free, owned, unhealthy float64
	for _, u := range s.NodeUse.All() {
		all, free, owned, unhealthy = all+float64(u.All), free+float64(u.Free), owned+float64(u.Owned), unhealthy+float64(u.Unhealthy)
	}
	busy, idle := 0, 0
	measured := make(map[model.GPUID]*model.Sample, len(samples))
	for i := range samples {
		measured[samples[i].GPU] = &samples[i]
	}
	for id, g := range s.GPUs.All() {
		slot, _ := s.Slots.Get(model.SlotKey{GPU: id})
		if slot.Owner == model.OwnerNone {
			if g.Health == model.HealthMissing {
				all, unhealthy = all-1, unhealthy-1
			}
			continue
		}
		switch m := measured[id]; {
		case m == nil || m.Unmeasured:
		case m.Unused >= idleAfter:
			idle++
		default:
			busy++
		}
	}
	v.set(GPUsTotal, all)
	v.set(GPUsAllocated, owned)
	v.set(GPUsFree, free)
	v.set(GPUsUnhealthy, unhealthy)
	if busy+idle > 0 || owned == 0 {
		v.set(GPUsBusy, float64(busy))
		v.set(GPUsIdleHeld, float64(idle))
	}
}

// measure sums what the GPUs of the cluster have measured.
func measure(s *state.State, samples []model.Sample, v *Values) {
	var use, memory, power float64
	loads, all := 0, 0
	for i := range samples {
		m := &samples[i]
		if _, found := s.GPUs.Get(m.GPU); !found {
			continue
		}
		all++
		memory, power = memory+float64(m.MemoryUsedMB), power+float64(m.PowerWatts)
		if !m.Unmeasured {
			use, loads = use+float64(m.Utilization), loads+1
		}
	}
	if all > 0 {
		v.set(MemoryUsed, memory/1024)
		v.set(Power, power)
	}
	if loads > 0 {
		v.set(Utilization, use/float64(loads))
	}
}

// waitsOf returns how long the tasks have waited that first started in the hour before, in no order. A wait is that of
// [model.Task.NotRunAt].
func waitsOf(s *state.State, now model.Time) (out []time.Duration) {
	since := now.Add(-waitSpan)
	for id, job := range s.Jobs.All() {
		if job.Begun == 0 || job.Ended != 0 && job.Ended < since {
			continue
		}
		for k, task := range s.Tasks.From(model.TaskKey{Job: id}) {
			if k.Job != id {
				break
			}
			if task.Started > since {
				out = append(out, task.Waited)
			}
		}
	}
	return out
}

// percentile returns the least of the values that so many percent of them do not exceed (nearest rank). It sorts them.
func percentile(list []time.Duration, percent int) time.Duration {
	slices.Sort(list)
	return list[(len(list)*percent+99)/100-1]
}

// oldest returns for how long the task has waited ([model.Task.NotRunAt]) that has waited longest, of those that wait for
// their turn.
func oldest(s *state.State, now model.Time) (longest time.Duration) {
	for _, line := range []iter.Seq2[state.QueueKey, state.None]{s.Queue.All(), s.CPUQueue.All()} {
		for k := range line {
			waited := now.Sub(k.Since)
			if waited > longest && k.Run.Value().Again {
				task, _ := s.Tasks.Get(k.Task)
				waited = task.NotRunAt(now)
			}
			longest = max(longest, waited)
		}
	}
	return longest
}
