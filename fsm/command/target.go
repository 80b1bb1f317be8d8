package command

import (
	"fmt"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model/membership"
)

// The target of each kind, for the audit trail. Kinds without a target of their own concern the cluster.

// Target returns the scope.
func (b *SetLimit) Target() string { return b.Limit.Scope.String() }

// Target returns the scope.
func (b *AdjustLimit) Target() string { return b.Scope.String() }

// Target returns the scope.
func (b *SetWeight) Target() string { return b.Weight.Scope.String() }

// Target returns the peer.
func (b *SetPeer) Target() string { return "peer " + string(b.Peer.ID) }

// Target returns the peer.
func (b *DropPeer) Target() string { return "peer " + string(b.ID) }

// Target returns the peer.
func (b *LockRestart) Target() string { return "peer " + string(b.Peer) }

// Target returns the first of the jobs, and how many there are.
func (b *Retire) Target() string { return targetJobs(b.Jobs) }

// Target returns the job, or one task of it.
func (b *Cancel) Target() string { return targetSome(b.Job, b.Task) }

// Target returns the job.
func (b *SetPriority) Target() string { return TargetJob(b.Job) }

// Target returns the job, or one task of it.
func (b *Hold) Target() string { return targetSome(b.Job, b.Task) }

// Target returns the job, or one task of it.
func (b *Release) Target() string { return targetSome(b.Job, b.Task) }

// Target returns the job, or one task of it.
func (b *Requeue) Target() string { return targetSome(b.Job, b.Task) }

// Target returns the job.
func (b *Extend) Target() string { return TargetJob(b.Job) }

// Target returns the job.
func (b *Purge) Target() string { return TargetJob(b.Job) }

// Target returns the first of the jobs, and how many there are.
func (b *Settle) Target() string { return targetJobs(b.Jobs) }

// Target returns the job.
func (b *DropDependencies) Target() string { return TargetJob(b.Job) }

// Target returns the first of the jobs, and how many there are.
func (b *Overdue) Target() string { return targetJobs(b.Jobs) }

// Target returns the task.
func (b *Place) Target() string { return targetTask(b.Attempt.TaskKey()) }

// Target returns the first of the victims, and how many there are.
func (b *Preempt) Target() string { return targetAttempts(b.Victims) }

// Target returns the task.
func (b *StartOverdue) Target() string { return targetTask(b.Attempt.TaskKey()) }

// Target returns the first of the jobs, and how many there are.
func (b *Suspend) Target() string { return targetAttempts(b.Attempts) }

// Target returns the reservation.
func (b *CancelBooking) Target() string {
	return "reservation " + strconv.FormatUint(uint64(b.ID), 10)
}

// Target returns the node.
func (b *Register) Target() string { return targetNode(b.Node) }

// Target returns the node.
func (b *SetNodeMode) Target() string { return targetNode(b.Node) }

// Target returns the node.
func (b *SetNodeLabels) Target() string { return targetNode(b.Node) }

// Target returns the node.
func (b *ConfirmDead) Target() string { return targetNode(b.Node) }

// Target returns the node.
func (b *RetireNode) Target() string { return targetNode(b.Node) }

// Target returns the GPU.
func (b *KillForeign) Target() string { return "gpu " + string(b.Slot.GPU) }

// Target returns the GPU.
func (b *SetGPUMode) Target() string { return "gpu " + string(b.GPU) }

// Target returns the node.
func (b *Suspect) Target() string { return targetNode(b.Node) }

// Target returns the task.
func (b *RankLost) Target() string {
	return targetTask(b.Rank.Attempt().TaskKey())
}

// Target returns the allocation.
func (b *AllocationLost) Target() string { return targetAllocation(b.ID) }

// Target returns the allocation, or the service where Apply numbers it.
func (b *Allocate) Target() string {
	if b.ID == "" {
		return "service " + b.Service
	}
	return targetAllocation(b.ID)
}

// Target returns the allocation.
func (b *Grant) Target() string { return targetAllocation(b.ID) }

// Target returns the allocation.
func (b *RenewAllocation) Target() string { return targetAllocation(b.ID) }

// Target returns the allocation.
func (b *ReleaseAllocation) Target() string { return targetAllocation(b.ID) }

// Target returns the user, or the machine that may join.
func (b *MakeToken) Target() string {
	if b.Role.Machine() {
		return membership.Member{Role: b.Role, Name: b.User}.String()
	}
	return targetUser(b.User)
}

// Target returns the member.
func (b *RecordCertificate) Target() string { return b.Member.String() }

// Target returns the member.
func (b *RevokeCertificate) Target() string { return b.Member.String() }

// Target returns what is replaced.
func (b *BeginRotation) Target() string { return b.Rotation.String() }

// Target returns the first of the tokens, by the id in lists, and their number.
func (b *DropTokens) Target() string {
	switch len(b.Tokens) {
	case 0:
		return ""
	case 1:
		return "token " + targetToken(b.Tokens[0])
	}
	return fmt.Sprintf("token %s and %d more", targetToken(b.Tokens[0]), len(b.Tokens)-1)
}

// Target returns the user.
func (b *SetUser) Target() string { return targetUser(b.User) }

// Target returns the user.
func (b *RemoveUser) Target() string { return targetUser(b.User) }

// Target returns the webhook.
func (b *SetWebhook) Target() string { return targetWebhook(b.Webhook.ID) }

// Target returns the webhook.
func (b *DropWebhook) Target() string { return targetWebhook(b.ID) }

// Target returns the webhook.
func (b *TestWebhook) Target() string { return targetWebhook(b.ID) }
