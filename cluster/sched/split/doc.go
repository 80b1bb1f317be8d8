// Package split chooses which jobs should run now, of those that run and those
// that wait, where the running ones may be suspended. It knows nodes only as
// numbers of GPUs and jobs only as what they need and what they are worth.
//
// The trouble it takes away: jobs of a whole node or more (gangs) and smaller ones
// spoil each other's nodes. Waiting for nodes to drain wastes GPUs; never draining
// them starves the gangs. Since jobs that may be suspended can make room at once,
// the only question is how many nodes the gangs should have. [Choose] tries the
// answers: for every number k of nodes it lays out the jobs in order, gangs on at
// most k nodes, smaller ones on what is left, then whatever still fits. Among the
// layouts that leave no GPU idle that somebody could use it takes the one whose jobs
// are worth most together; if all waste, the one that wastes least. Today's k may
// waste a little, for changing one's mind costs restarts.
//
// A running job stays where it is if its place is still free in the layout; if not,
// it is suspended and may be started elsewhere. Locked ones stay in any case.
//
// Everything is in whole numbers and in the order given, so that the same question
// has the same answer on every machine.
package split
