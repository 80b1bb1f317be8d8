package tx

import (
	"fmt"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
)

// news collects the notices of an entry.
type news struct{ List []model.Notice }

// Announce makes a notice: for followers of events, and for webhooks that ask for it, whose deliveries are
// part of the same transaction.
func Announce(t *Tx, n model.Notice) {
	if t.Restoring {
		return
	}
	n.Life, n.Index, n.At, n.Actor = model.LifeOf(t.Settings.Incarnation), t.Meta.Index, t.Clock, t.Actor
	n.Ordinal = uint32(len(t.News.List) + 1)
	n.Detail = model.Clip(n.Detail)
	t.News.List = append(t.News.List, n)
	post(t, &n)
}

// kindOf returns the notice of a line of a timeline, if it has one.
func kindOf(e *model.Event) (k model.NoticeKind, known bool) {
	switch e.What {
	case model.EventSubmitted:
		return model.NoticeJobQueued, true
	case model.EventScheduled:
		return model.NoticeJobScheduled, true
	case model.EventRunning:
		return model.NoticeJobStarted, true
	case model.EventCompleted:
		return model.NoticeJobCompleted, true
	case model.EventFailed:
		return model.NoticeJobFailed, true
	case model.EventCanceled:
		return model.NoticeJobCanceled, true
	case model.EventNearLimit:
		return model.NoticeJobNearLimit, true
	case model.EventRequeued:
		switch {
		case e.Reason == model.ReasonPreempt:
			return model.NoticeJobPreempted, true
		case e.Reason.Gone():
			return model.NoticeJobLost, true
		}
		return model.NoticeJobRequeued, true
	case model.EventAllocating, model.EventStopping, model.EventRankLost, model.EventPriority, model.EventHeld, model.EventReleased,
		model.EventLateExit, model.EventRefused, model.EventExtended, model.EventMet, model.EventUnbound:
	}
	return 0, false
}

// announceEvent announces a line of a task's timeline. Those of an array's tasks are parts; that the array
// was queued, and how it ended, is announced as a whole, too.
func announceEvent(t *Tx, job *model.Job, task *model.Task, e *model.Event) {
	kind, known := kindOf(e)
	if !known {
		return
	}
	n := jobNotice(job, kind)
	n.Task, n.N, n.Reason, n.Detail, n.Part = task.Key.Task, e.N, e.Reason, e.Detail, job.Array() && e.What != model.EventSubmitted
	if e.What == model.EventRunning {
		n.Waited = task.NotRunAt(t.Clock)
	}
	if e.What == model.EventFailed && e.Reason == model.ReasonExit {
		n.Detail = endInWords(task)
	}
	Announce(t, n)
}

func jobNotice(job *model.Job, kind model.NoticeKind) model.Notice {
	return model.Notice{
		Kind: kind, Job: job.ID, Name: job.Spec.Name, User: job.Spec.User, Project: job.Spec.Project, Priority: job.Spec.Priority,
		Since: job.Submitted,
	}
}

func endInWords(task *model.Task) string {
	if task.Signal > 0 {
		return fmt.Sprintf("signal %d", task.Signal)
	}
	return fmt.Sprintf("exit code %d", task.ExitCode)
}

// AnnounceArray announces how an array ended, as a whole.
func AnnounceArray(t *Tx, job *model.Job) {
	if !job.Array() {
		return
	}
	kind := model.NoticeJobCompleted
	switch {
	case job.Failed > 0:
		kind = model.NoticeJobFailed
	case job.Canceled > 0:
		kind = model.NoticeJobCanceled
	}
	n := jobNotice(job, kind)
	n.Detail = fmt.Sprintf("%d tasks: %d completed, %d failed, %d canceled", job.Tasks, job.Tasks-job.Failed-job.Canceled, job.Failed, job.Canceled)
	Announce(t, n)
}

// announceNode announces a change of a node.
func announceNode(t *Tx, old, next *model.Node) {
	switch {
	case old == nil:
		Announce(t, model.Notice{Kind: model.NoticeNodeRegistered, Node: next.ID, Detail: next.Version})
		return
	case next == nil:
		Announce(t, model.Notice{Kind: model.NoticeNodeRetired, Node: old.ID})
		return
	}
	for _, v := range []struct {
		so   bool
		kind model.NoticeKind
		why  string
	}{
		{old.Status != model.NodeUp && next.Status == model.NodeUp, model.NoticeNodeBack, ""},
		{old.Status == model.NodeUp && next.Status == model.NodeUp && old.Epoch != next.Epoch, model.NoticeNodeRegistered, next.Version},
		{old.Status == model.NodeUp && next.Status == model.NodeSuspect, model.NoticeNodeSuspect, ""},
		{old.Status != model.NodeDead && next.Status == model.NodeDead, model.NoticeNodeDead, ""},
		{!old.Degraded() && next.Degraded(), model.NoticeNodeDegraded, next.Why()},
		{old.Degraded() && next.Status == model.NodeUp && !next.Degraded(), model.NoticeNodeRecovered, ""},
		{old.Mode != next.Mode && next.Mode == model.ModeDraining, model.NoticeNodeDraining, next.ModeReason},
		{old.Mode != next.Mode && next.Mode == model.ModeCordoned, model.NoticeNodeCordoned, next.ModeReason},
		{old.Mode != next.Mode && next.Mode == model.ModeOpen, model.NoticeNodeOpened, next.ModeReason},
	} {
		if v.so {
			Announce(t, model.Notice{Kind: v.kind, Node: next.ID, Detail: v.why})
		}
	}
}

// AnnounceDrained announces that a drained node is empty.
func AnnounceDrained(t *Tx, id model.NodeID) {
	if n := t.Nodes.Must(id); n.Mode == model.ModeDraining && len(LiveRanks(t, id)) == 0 {
		Announce(t, model.Notice{Kind: model.NoticeNodeDrained, Node: id, Detail: n.ModeReason})
	}
}

// announceGPU announces a changed verdict on a GPU.
func announceGPU(t *Tx, old, next *model.GPU) {
	if old == nil || next == nil || old.Health == next.Health {
		return
	}
	kind := model.NoticeGPUHealth
	switch {
	case next.Health == model.HealthQuarantined:
		kind = model.NoticeGPUQuarantined
	case !old.Health.Usable() && next.Health.Usable():
		kind = model.NoticeGPUBack
	}
	detail := next.Health.String()
	if next.Why != "" {
		detail += ": " + next.Why
	}
	Announce(t, model.Notice{Kind: kind, Node: next.Node, GPU: next.ID, Detail: detail})
}

// AnnounceAllocation announces the state of an allocation; its granted GPUs are the slots that it owns.
func AnnounceAllocation(t *Tx, a *model.Allocation) {
	n := model.Notice{
		Allocation: a.ID, Name: a.Service, User: a.User, Project: a.Project, Priority: a.Priority, Since: a.Asked,
	}
	switch a.State {
	case model.AllocationQueued:
		n.Kind = model.NoticeAllocationQueued
	case model.AllocationActive:
		n.Kind = model.NoticeAllocationGranted
	case model.AllocationReleased:
		n.Kind = model.NoticeAllocationReleased
	case model.AllocationExpired:
		n.Kind = model.NoticeAllocationExpired
	case model.AllocationLost:
		n.Kind = model.NoticeAllocationLost
	}
	var places []string
	for _, key := range SlotsOfAllocation(t, a.ID) {
		gpu := t.GPUs.Must(key.GPU)
		n.Node = gpu.Node
		places = append(places, fmt.Sprint(gpu.Index))
	}
	n.Places = strings.Join(places, " ")
	Announce(t, n)
}

// announceLeader announces that another term has begun: its first entry shows the leader.
func announceLeader(t *Tx) {
	if t.Meta.Term > t.From.Term && !t.Settings.Incarnation.IsZero() {
		Announce(t, model.Notice{Kind: model.NoticeLeader, Peer: t.Meta.By, Detail: fmt.Sprintf("term %d", t.Meta.Term)})
	}
}

// backlogOver is how much of the threshold may still wait when a backlog is over, in
// percent: a queue about the threshold does not make a notice a minute.
const backlogOver = 75

// announceBacklog announces the beginning and the end of a backlog of waiting tasks.
func announceBacklog(t *Tx) {
	set := &t.Settings
	if set.Notify.Backlog == 0 {
		set.Backlogged = false
		return
	}
	use, _ := t.Usage.Get(model.ScopeKey{Kind: model.ScopeCluster})
	waits, most := uint64(use.Queued), uint64(set.Notify.Backlog)
	n := model.Notice{Count: waits, Detail: fmt.Sprintf("%d tasks wait, the threshold is %d", waits, most)}
	switch {
	case !set.Backlogged && waits >= most:
		n.Kind = model.NoticeBacklog
	case set.Backlogged && waits*100 <= most*backlogOver:
		n.Kind = model.NoticeBacklogCaught
	default:
		return
	}
	set.Backlogged = !set.Backlogged
	t.Actor = ""
	Announce(t, n)
}

// nearly is the part of a bound, in percent, at which it counts as nearly reached.
const nearly = 90

// nearlyFull announces that a count has come near its bound: that it has gone from below nine tenths to nine
// tenths or more.
func nearlyFull(t *Tx, what string, was, is, bound int) {
	if mark := (bound*nearly + 99) / 100; was < mark && is >= mark {
		Announce(t, model.Notice{
			Kind: model.NoticeNearlyFull, Count: uint64(is),
			Detail: fmt.Sprintf("%s: %d of at most %d", what, is, bound),
		})
	}
}
