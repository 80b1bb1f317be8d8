package target

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/berth-gpu/berth/fsm/model"
)

// Job names a job as the target of a command.
func Job(id model.JobID) string { return "job " + id.String() }

// Task names a task.
func Task(k model.TaskKey) string {
	if k.Task == 0 {
		return Job(k.Job)
	}
	return Job(k.Job) + " task " + strconv.FormatUint(uint64(k.Task), 10)
}

// Jobs names the first of several jobs and their number.
func Jobs(list []model.JobID) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return Job(list[0])
	}
	return fmt.Sprintf("%s and %d more", Job(list[0]), len(list)-1)
}

// Attempts names the jobs of attempts: the first, and how many more.
func Attempts(list []model.AttemptKey) string {
	jobs := make([]model.JobID, len(list))
	for i, a := range list {
		jobs[i] = a.Job
	}
	return Jobs(jobs)
}

// Node names a node.
func Node(id model.NodeID) string { return "node " + string(id) }

// Allocation names an allocation.
func Allocation(id model.AllocationID) string { return "allocation " + string(id) }

// Import names an import by the beginning of its id.
func Import(id model.Hash) string { return "import " + hex.EncodeToString(id[:6]) }

// Token returns a token's name in lists: enough of its hash to be unique.
func Token(h model.Hash) string { return h.String()[:16] }

// User names a user.
func User(name string) string { return "user " + name }

// Some names a job, or one task of the job where one was named.
func Some(id model.JobID, task int64) string {
	if task == model.AllTasks {
		return Job(id)
	}
	return Job(id) + " task " + strconv.FormatInt(task, 10)
}

// Webhook names a webhook.
func Webhook(id model.WebhookID) string { return "webhook " + string(id) }
