package command

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
)

// TargetJob names a job as the target of a command.
func TargetJob(id model.JobID) string { return "job " + id.String() }

// targetTask names a task.
func targetTask(k model.TaskKey) string {
	if k.Task == 0 {
		return TargetJob(k.Job)
	}
	return TargetJob(k.Job) + " task " + strconv.FormatUint(uint64(k.Task), 10)
}

// targetJobs names the first of several jobs and their number.
func targetJobs(list []model.JobID) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return TargetJob(list[0])
	}
	return fmt.Sprintf("%s and %d more", TargetJob(list[0]), len(list)-1)
}

// targetAttempts names the jobs of attempts: the first, and how many more.
func targetAttempts(list []model.AttemptKey) string {
	jobs := make([]model.JobID, len(list))
	for i, a := range list {
		jobs[i] = a.Job
	}
	return targetJobs(jobs)
}

// targetNode names a node.
func targetNode(id model.NodeID) string { return "node " + string(id) }

// targetAllocation names an allocation.
func targetAllocation(id model.AllocationID) string { return "allocation " + string(id) }

// targetImport names an import by the beginning of its id.
func targetImport(id model.Hash) string { return "import " + hex.EncodeToString(id[:6]) }

// targetToken returns a token's name in lists: enough of its hash to be unique.
func targetToken(h model.Hash) string { return h.String()[:16] }

// targetUser names a user.
func targetUser(name string) string { return "user " + name }

// targetSome names a job, or one task of the job where one was named.
func targetSome(id model.JobID, task int64) string {
	if task == model.AllTasks {
		return TargetJob(id)
	}
	return TargetJob(id) + " task " + strconv.FormatInt(task, 10)
}

// targetWebhook names a webhook.
func targetWebhook(id outbox.WebhookID) string { return "webhook " + string(id) }
