// Package devices keeps the processes of a rank from GPUs that are not its own, by an eBPF program at the
// rank's group of version 2 that the kernel runs whenever a device is opened or made.
//
// Covering devices by mounts, as isolate does, hides names; a process that makes another name for the device,
// or gets at the device by another way, is stopped here.
//
// Only GPUs are denied, and of the driver's devices only those that lead to a GPU. A list of all allowed
// devices would have to cover every host: InfiniBand, FUSE, local disks, sensors, what containers need.
// Access to devices other than GPUs is up to the host's file modes, and a job that works without Berth has to
// work with it.
//
// The agent attaches the program, before a rank's supervisor starts: supervisors stay small, and need no
// right to load programs. The program stays as long as the group does, whatever happens to the agent.
package devices
