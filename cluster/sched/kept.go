package sched

import (
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"math"
)

// owed is GPUs of a node that a pass keeps for a waiting task: they are barred, reserved or drained for the task,
// or the task should start there once others are gone.
type owed struct {
	to   state.QueueKey
	node model.NodeID // empty: every node
	gpus uint32
	from model.Time // when the task may have them: others that are gone by then may use them before; 0: at once
}

// everyGPU is all GPUs of a node.
const everyGPU = math.MaxUint32
