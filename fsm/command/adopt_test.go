package command_test

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// A task has one attempt that is adopted.
func TestAdoptTakesOneAttemptOfATask(t *testing.T) {
	t.Parallel()
	first := command.Place{
		Attempt: model.AttemptKey{Job: 7, N: 1},
		Ranks:   []command.Placement{{Node: "n1", Epoch: 1, Slots: []model.SlotKey{{GPU: "GPU-n1-0"}}}},
	}
	second := first
	second.Attempt.N = 2
	job := command.ImportedJob{ID: 7, Tasks: 2, Spec: model.Spec{
		User: "alice", Class: model.ClassNormal, Command: "true", GPUs: 1,
		OnLost: model.OnLostRequeue, DisconnectGrace: 5 * time.Minute, Grace: time.Minute, Array: "0-1",
	}}
	b := &command.Adopt{Job: job, Placed: []uint64{1, 2}, Attempts: []command.Place{first, second}}
	if err := b.Validate(); err == nil {
		t.Error("two attempts of one task were taken")
	}
	second.Attempt.N, second.Attempt.Task = 1, 1
	if b.Attempts[1] = second; b.Validate() != nil {
		t.Errorf("two tasks: %v", b.Validate())
	}
}
