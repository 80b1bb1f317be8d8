package main

import "github.com/spf13/cobra"

// jobsCommands returns the commands.
func jobsCommands() []*cobra.Command {
	return []*cobra.Command{
		newSubmit(), newRun(), newQueue(), newShow(), newTasks(), newExplain(), newPlan(), newAnalyze(), newLogs(), newCancel(),
		newHold(), newRelease(), newRequeue(), newExtend(), newAllocate(), newAllocations(), newRenew(), newHistory(),
	}
}
