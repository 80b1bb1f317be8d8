package main

import "github.com/spf13/cobra"

// forUsers returns the commands that are for every user.
func forUsers() []*cobra.Command {
	return []*cobra.Command{newWhoami(), newUsage(), newAudit(), newEvents(), newWebhook()}
}

// forOperators returns the commands that run a cluster.
func forOperators() []*cobra.Command {
	return []*cobra.Command{newOrchestrator(), newPolicy(), newQuota(), newShare(), newToken(), newUser()}
}
