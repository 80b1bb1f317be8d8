// Package jobs holds the commands that submit, show and change jobs, and allocations of services.
//
//	submit.go, script.go, directives.go, stdin.go    a submission: the program to run and its input
//	options.go, turns.go                             a submission: the options of the table of fields, and its start
//	run.go, watch.go, logs.go, logs_tasks.go         how commands follow a job and its output
//	queue.go, show.go, placing.go, array.go          the queue, one job and its tasks
//	plan.go, ended.go                                the forecast, jobs that have ended
//	cancel.go, control.go                            changes of jobs
//	allocate.go                                      GPUs for services, without a job
//	analyze.go                                       estimates for a workload
package jobs

import "github.com/spf13/cobra"

// Commands returns the commands of this package.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newSubmit(), newRun(), newQueue(), newShow(), newTasks(), newExplain(), newPlan(), newAnalyze(), newLogs(), newCancel(),
		newHold(), newRelease(), newRequeue(), newExtend(), newAllocate(), newAllocations(), newRenew(), newHistory(),
	}
}
