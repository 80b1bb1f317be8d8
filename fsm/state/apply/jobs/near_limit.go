package jobs

import (
	"fmt"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/outbox"
	"github.com/berth-gpu/berth/fsm/state/tx"
)

// NearLimit announces attempts whose time limit is near, each once.
func NearLimit(t *tx.Tx, b *command.NearLimit) command.Result {
	var n uint64
	for _, key := range b.Attempts {
		a, found := t.Attempts.Get(key)
		job, _ := t.Jobs.Get(key.Job)
		if !found || a.State != model.TaskRunning || job.Spec.TimeLimit == 0 || t.Warned.Has(key) {
			continue
		}
		n++
		t.Warned.Put(outbox.Warned{Attempt: key, At: t.Clock})
		task := t.Tasks.Must(key.TaskKey())
		tx.Event(t, &task, model.Event{
			What: model.EventNearLimit, N: key.N, Detail: fmt.Sprintf("it may run %s and began at %s", job.Spec.TimeLimit, a.Started.Time().Format("15:04:05 UTC")),
		})
		t.Tasks.Put(task)
	}
	return command.Result{Number: n}
}
