package state

import "github.com/berth-gpu/berth/fsm/model"

// RoomOf returns how much jobs without GPUs may hold on a node in all.
func RoomOf(set *model.Settings, n *model.Node, use *model.NodeUse) model.Room {
	tuning := set.Tuning
	if tuning == (model.Tuning{}) {
		tuning = model.DefaultTuning()
	}
	return tuning.RoomFor(n, use.All)
}

// CPURoom returns how much jobs without GPUs may hold on a node in all, and how much they hold.
func (s *State) CPURoom(n *model.Node) (room, held model.Room) {
	set := s.Settings()
	use, _ := s.NodeUse.Get(n.ID)
	return RoomOf(&set, n, &use), use.Held
}
