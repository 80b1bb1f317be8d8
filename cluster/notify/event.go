package notify

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/notify/event"
	"github.com/berth-gpu/berth/fsm/model"
)

// ID returns a notice's id, such as "3fa90c11-1234-2".
func ID(n *model.Notice) string { return idOf(n.Life, n.Place()) }

func idOf(life uint32, p model.NoticePlace) string {
	return fmt.Sprintf("%08x-%d-%d", life, p.Index, p.Ordinal)
}

// PlaceID returns the id of a place in the log's order of one life of the cluster: reading from it continues
// after that place.
func PlaceID(i model.Incarnation, p model.NoticePlace) string { return idOf(model.LifeOf(i), p) }

// ParseID parses an id; here is whether it is of this life of the cluster.
func ParseID(text string, i model.Incarnation) (p model.NoticePlace, here, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 3 || len(parts[0]) != 8 {
		return p, false, false
	}
	life, err := strconv.ParseUint(parts[0], 16, 32)
	index, err2 := strconv.ParseUint(parts[1], 10, 64)
	ordinal, err3 := strconv.ParseUint(parts[2], 10, 32)
	if err != nil || err2 != nil || err3 != nil {
		return p, false, false
	}
	return model.NoticePlace{Index: index, Ordinal: uint32(ordinal)}, uint32(life) == model.LifeOf(i), true
}

// EventOf returns the event of a notice.
func EventOf(n *model.Notice) *event.Notice {
	e := &event.Notice{
		ID: ID(n), Type: n.Kind.String(), Timestamp: n.At.Time(), Actor: n.Actor, Target: Target(n), Result: result(n),
		Data: event.NoticeData{
			Attempt: int64(n.N), NodeID: string(n.Node), GPUUUID: string(n.GPU), AllocationID: string(n.Allocation), PeerID: n.Peer,
			Name: n.Name, User: n.User, Project: n.Project, Priority: int64(n.Priority), Detail: n.Detail, SubmittedAt: n.Since.Time(),
			GPUIDs: indices(n.Places), Queued: int64(n.Count),
		},
	}
	if n.Job > 0 {
		e.Data.JobID = n.Job.String()
	}
	if n.Part {
		task := int64(n.Task)
		e.Data.Task = &task
	}
	if n.Reason != model.ReasonNone {
		e.Data.Reason = n.Reason.String()
	}
	switch wait := n.At.Sub(n.Since).Seconds(); n.Kind { //nolint:exhaustive // the others are no end of a wait
	case model.NoticeJobStarted:
		wait = n.Waited.Seconds()
		fallthrough
	case model.NoticeAllocationGranted:
		e.Data.WaitSeconds = &wait
	}
	return e
}

// Target returns the target of a notice, as events name it.
func Target(n *model.Notice) string {
	switch {
	case n.Job > 0 && n.Part:
		return fmt.Sprintf("job %s task %d", n.Job, n.Task)
	case n.Job > 0:
		return "job " + n.Job.String()
	case n.Allocation != "":
		return "allocation " + string(n.Allocation)
	case n.GPU != "":
		return fmt.Sprintf("GPU %s of node %s", n.GPU, n.Node)
	case n.Node != "":
		return "node " + string(n.Node)
	case n.Peer != "":
		return "peer " + n.Peer
	case n.Kind == model.NoticeTest:
		return "webhook " + n.Name
	}
	return "queue"
}

// result returns the reason and the detail, as far as there are any.
func result(n *model.Notice) string {
	if n.Reason == model.ReasonNone || n.Reason == model.ReasonExit {
		return n.Detail
	}
	if n.Detail == "" {
		return n.Reason.String()
	}
	return n.Reason.String() + ": " + n.Detail
}

func indices(text string) (out []int64) {
	for part := range strings.FieldsSeq(text) {
		if v, err := strconv.ParseInt(part, 10, 64); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// grantedOf returns the webhook's body for an allocation: the owner's published shape. Its GPUs are in the
// order in which the API's answers name them.
func grantedOf(n *model.Notice) *event.Granted {
	status := "allocated"
	if n.Kind == model.NoticeAllocationLost {
		status = "lost"
	}
	wait := n.At.Sub(n.Since).Round(time.Millisecond).Seconds()
	return &event.Granted{
		Status: status, RequestID: string(n.Allocation),
		Allocation: event.GrantedAllocation{
			ID: string(n.Allocation), ServiceName: n.Name, GPUIDs: append([]int64{}, slices.Sorted(slices.Values(indices(n.Places)))...),
			AllocatedAt: n.At.Time(),
			Priority:    int64(n.Priority),
		},
		SubmittedAt: n.Since.Time(), AllocatedAt: n.At.Time(),
		WaitSeconds: json.Number(strconv.FormatFloat(wait, 'f', -1, 64)),
	}
}
