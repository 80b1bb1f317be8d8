// Package cgroup holds the processes of a rank together by control groups of version 2: no process of a rank
// can leave its group, so the group can be limited, frozen, killed and proven empty as a whole.
//
//	layout.go  which hierarchies this host has, and where this process is in them
//	claim.go   a folder of that hierarchy for a node's ranks
//	group.go   the group of one rank
//
// A process may make groups only below one that was delegated to it: by systemd's Delegate=yes, by being the
// whole of a container or of a host without systemd. A group that enables controllers below it must not
// contain processes, so the agent moves to a leaf next to its ranks, named "agent"; a unit with
// DelegateSubgroup=agent starts it there:
//
//	SERVICE/agent                  the agent and the supervisors
//	SERVICE/berth-LINEAGE/RANK     the processes of a rank
package cgroup
