// Package cgroup holds the processes of a rank together by control groups of version 2: no process of a rank
// can leave its group, so the group can be limited, frozen, killed and proven empty as a whole.
//
// A process may make groups only below one that was delegated: by systemd's Delegate=yes, by being the whole of a
// container or of a host without systemd. A group that enables controllers below it must not contain processes, so
// supervisors are in a leaf next to their ranks, named "supervisors". Where systemd runs the agent, the groups are
// those of a unit of their own, so that the agent's unit can be restarted while jobs run:
//
//	berth-agent.service                     the agent
//	berth-jobs.service/unit                 the process that the unit consists of
//	berth-jobs.service/supervisors          the supervisors
//	berth-jobs.service/berth-LINEAGE/RANK   the processes of a rank
//
// Elsewhere the agent moves itself to the leaf, next to the ranks of its own group.
package cgroup
