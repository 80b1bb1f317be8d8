// Package split chooses which jobs should run now, of those that run and those that wait, where the running ones
// may be suspended. It knows nodes only as numbers of GPUs, and jobs only by what they need and what they are
// worth.
//
// The problem that it solves: large jobs, which need a whole node or more (gangs in the code), and smaller ones
// spoil each other's nodes. Waiting for nodes to drain wastes GPUs; never draining them starves the large jobs.
// Since jobs that may be suspended can make room at once, the only question is how many nodes the large jobs
// should have. [Choose] tries the answers: for every number k of nodes it lays out the jobs in order, large jobs
// on at most k nodes, smaller ones on what is left, then all that still fits. Some layouts leave no GPU idle that
// a job could use. Among these it takes the one with the greatest total value of jobs; if all waste GPUs, the one
// that wastes least. Today's k may waste a little, because every change costs restarts.
//
// A running job stays where it is if its place is still free in the layout; if not, it is suspended and may be
// started elsewhere. Locked jobs stay in any case.
//
// All numbers are whole numbers and all jobs are in the order given, so that the same problem has the same answer
// on every machine.
//
//berth:pure
package split
