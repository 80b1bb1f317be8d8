package pass

import (
	"math"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
)

// KeptGPUs is GPUs of a node that a pass keeps for a waiting task: they are barred, reserved or drained for the task,
// or the task should start there once others are gone.
type KeptGPUs struct {
	For  state.QueueKey
	Node model.NodeID // empty: every node
	GPUs uint32
	From model.Time // when the task may have them: others that are gone by then may use them before; 0: at once
}

// AllGPUs is all GPUs of a node.
const AllGPUs = math.MaxUint32
