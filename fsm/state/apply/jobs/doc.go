// Package jobs carries out the commands on jobs: submitting, canceling, holding, extending, dependencies, and the
// removal of jobs that ended long ago.
//
//berth:pure
package jobs
