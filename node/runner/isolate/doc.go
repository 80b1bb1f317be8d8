// Package isolate separates jobs from the node and from each other: each runs under the unix account of its
// user, with no rights beyond that account's, unless the node runs all jobs under its agent's account.
//
// A job that is isolated has a mount namespace of its own. In it, /tmp and /dev/shm are private and go with
// the rank, other jobs' GPU devices are covered by /dev/null, and the agent's folders are covered by an empty
// one in which only the rank's working folder and its script appear, at the paths that they have outside.
// Without capabilities and with no_new_privs set, none of this can be undone from within: a mount that came
// with the namespace stays even where a user namespace allows mounts.
//
// A supervisor starts the stage with a Plan; the stage becomes the job by exec, so it has the job's process
// id, session and cgroup from the beginning.
package isolate
