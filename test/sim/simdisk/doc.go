// Package simdisk is a disk for simulated peers and agents: raft's log, stable
// and snapshot stores and a few small files, in memory, with the faults that
// real disks have.
//
// A Disk outlives the process that uses it. A process opens it and works
// through a Handle; when the simulator kills the process, the goroutines that
// are still under way in it keep a handle that no longer reaches the disk:
//
//	disk := simdisk.New(seed)
//	h := disk.Open()
//	r, _ := raft.NewRaft(conf, fsm, h.Logs(), h.Stable(), h.Snapshots(), trans)
//	...
//	h.Kill()                    // kill -9: everything written survives
//	h = disk.Open()
//	...
//	disk = disk.PowerCut(rng)   // power loss: only what was synced is sure to
//
// Every write has two steps, the write and the sync, and takes virtual time
// (time.Sleep and timers, for use in a testing/synctest bubble). In between,
// the data survives the process but perhaps not the power. No lock is held
// while time passes: a goroutine that waits for a mutex is not durably blocked,
// and the bubble's clock would stand still for ever.
package simdisk
