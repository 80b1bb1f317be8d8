// Package devices keeps the processes of a rank from GPUs that are not its own, by a
// program at the rank's group of version 2 that the kernel asks whenever a device is
// opened or made.
//
//	rules.go    which devices a rank may open: from what the driver shows, pure
//	program.go  those rules as a program of the kernel's, pure
//	guard.go    at a group
//
// Covering devices by mounts, as isolate does, hides names; whoever makes another
// name for the device, or has one by another way, is stopped here.
//
// Only GPUs are denied, and of the driver's devices only those that lead to a GPU. A
// list of all that is allowed would have to know every host: InfiniBand, FUSE, local
// disks, sensors, what containers need. What file modes allow beside GPUs is the
// host's business, and a job that works without Berth is to work with it.
//
// The agent attaches the program, before a rank's supervisor starts: supervisors stay
// small, and need no right to load programs. It stays as long as the group does,
// whatever becomes of the agent.
package devices
