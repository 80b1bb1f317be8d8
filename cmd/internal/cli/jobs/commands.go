// Package jobs holds the commands that submit, show and change jobs, and allocations of services.
package jobs

import "github.com/berth-gpu/berth/cmd/internal/cli"

// Commands returns the makers of the commands of this package.
func Commands() []cli.Maker {
	return []cli.Maker{
		{Name: "submit", New: newSubmit},
		{Name: "run", New: newRun},
		{Name: "redo", New: newRedo},
		{Name: "queue", New: newQueue},
		{Name: "jobs", New: newJobs},
		{Name: "show", New: newShow},
		{Name: "tasks", New: newTasks},
		{Name: "explain", New: newExplain},
		{Name: "plan", New: newPlan},
		{Name: "analyze", New: newAnalyze},
		{Name: "logs", New: newLogs},
		{Name: "cancel", New: newCancel},
		{Name: "hold", New: newHold},
		{Name: "release", New: newRelease},
		{Name: "requeue", New: newRequeue},
		{Name: "extend", New: newExtend},
		{Name: "purge", New: newPurge},
		{Name: "allocate", New: newAllocate},
		{Name: "allocations", New: newAllocations},
		{Name: "renew", New: newRenew},
		{Name: "history", New: newHistory},
	}
}
