// Package admin holds the commands about limits, users and records, and those that direct the scheduling.
package admin

import "github.com/berth-gpu/berth/cmd/internal/cli"

// ForUsers returns the makers of the commands that are for every user.
func ForUsers() []cli.Maker {
	return []cli.Maker{
		{Name: "whoami", New: newWhoami},
		{Name: "ui", New: newUI},
		{Name: "usage", New: newUsage},
		{Name: "audit", New: newAudit},
		{Name: "events", New: newEvents},
		{Name: "webhook", New: newWebhook},
	}
}

// ForOperators returns the makers of the commands that run a cluster.
func ForOperators() []cli.Maker {
	return []cli.Maker{
		{Name: "orchestrator", New: newOrchestrator},
		{Name: "policy", New: newPolicy},
		{Name: "quota", New: newQuota},
		{Name: "share", New: newShare},
		{Name: "token", New: newToken},
		{Name: "user", New: newUser},
	}
}
