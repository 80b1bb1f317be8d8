// Package admin holds the commands about limits, users and records, and those that direct the scheduling.
//
//	quota.go, share.go, usage.go    limits, shares, use over a span of time
//	policy.go, orchestrator.go      the order of the queue; whether jobs are started
//	audit.go, refusals.go           the record of changes, refusals and reads
//	token.go, user.go               tokens and users
//	events.go, webhook.go           events, and webhooks that get them
package admin

import "github.com/spf13/cobra"

// ForUsers returns the commands that are for every user.
func ForUsers() []*cobra.Command {
	return []*cobra.Command{newWhoami(), newUsage(), newAudit(), newEvents(), newWebhook()}
}

// ForOperators returns the commands that run a cluster.
func ForOperators() []*cobra.Command {
	return []*cobra.Command{newOrchestrator(), newPolicy(), newQuota(), newShare(), newToken(), newUser()}
}
