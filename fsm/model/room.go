package model

import "cmp"

// Room is cores and memory in MB of a node that jobs without GPUs hold, or may hold.
type Room struct {
	CPUs     uint32 `cbor:"1,keyasint,omitempty"`
	MemoryMB uint32 `cbor:"2,keyasint,omitempty"`
}

// Holds returns what a job without GPUs holds on each of its nodes; nothing for jobs with GPUs.
func (s *Spec) Holds() Room {
	if !s.WithoutGPUs() {
		return Room{}
	}
	return Room{s.CPUs, s.MemoryMB}
}

// Within reports whether so much may be held in addition to what is held already.
func (r Room) Within(held, room Room) bool {
	return uint64(held.CPUs)+uint64(r.CPUs) <= uint64(room.CPUs) && uint64(held.MemoryMB)+uint64(r.MemoryMB) <= uint64(room.MemoryMB)
}

// Less returns what is left of the room when so much of it is held; 0 if more is held than there is.
func (r Room) Less(held Room) Room {
	return Room{r.CPUs - min(r.CPUs, held.CPUs), r.MemoryMB - min(r.MemoryMB, held.MemoryMB)}
}

// RoomFor returns how much jobs without GPUs may hold on a node with so many GPUs: all of a node without GPUs, and
// of others CPUShare percent, rounded down but at least one core unless CPUShare is 0. A node that has not reported
// its cores or its memory has no room.
func (t *Tuning) RoomFor(n *Node, gpus uint32) Room {
	switch {
	case n.CPUs == 0 || n.MemoryMB == 0:
		return Room{}
	case gpus == 0:
		return Room{n.CPUs, n.MemoryMB}
	case t.CPUShare == 0:
		return Room{}
	}
	part := func(of uint32) uint32 { return uint32(uint64(of) * uint64(t.CPUShare) / 100) }
	return Room{max(part(n.CPUs), 1), part(n.MemoryMB)}
}

// MemoryPer returns the memory in MB of a job without GPUs that sets only its cores.
func (d *Defaults) MemoryPer(cpus uint32) uint32 {
	return uint32(min(uint64(cpus)*uint64(cmp.Or(d.MemoryPerCPU, 2000)), MaxMemoryGB*1000))
}
