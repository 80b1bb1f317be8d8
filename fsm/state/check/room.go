package check

import "github.com/berth-gpu/berth/fsm/state/table"

// moveRooms: where jobs without GPUs hold more of a node than they may, no command has added to it.
func moveRooms(m *mover) {
	for id, d := range table.Diffs(m.was.NodeUse, m.s.NodeUse) {
		if !d.Is {
			continue
		}
		was, _ := m.was.Nodes.Get(id)
		is, _ := m.s.Nodes.Get(id)
		before, had := m.was.CPURoom(&was)
		room, held := m.s.CPURoom(&is)
		m.hold(held.CPUs <= max(before.CPUs, room.CPUs, had.CPUs) && held.MemoryMB <= max(before.MemoryMB, room.MemoryMB, had.MemoryMB), WithinLimits,
			"jobs without GPUs may hold %+v of node %s and go from %+v to %+v", room, id, had, held)
	}
}
