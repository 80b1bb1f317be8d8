// Package cgroup holds the processes of a rank together by control groups of
// version 2: nothing that a rank starts can leave its group, so the group can be
// frozen, killed and shown to be empty as a whole, and limited.
//
//	layout.go  which hierarchies this host has, and where this process is in them
//	claim.go   a folder of that hierarchy for a node's ranks
//	group.go   the group of one rank
//
// A process may make groups only below one that was delegated to it: by systemd's
// Delegate=yes, by being the whole of a container or of a host without systemd. In
// a group that hands controllers down no process may remain, so the agent moves to
// a leaf beside its ranks, named "agent"; a unit with DelegateSubgroup=agent starts
// it there:
//
//	SERVICE/agent                  the agent and the supervisors
//	SERVICE/berth-LINEAGE/RANK     the processes of a rank
package cgroup
