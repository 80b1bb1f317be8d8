package main

import (
	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// telling holds the flags for notifications about a job.
type telling struct {
	notify  []string
	webhook string
}

func (s *submission) bindTelling(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.webhook, "webhook", "", "`URL` that gets the job's events")
	f.StringSliceVar(&s.notify, "notify", nil, "`events` for --webhook, such as started,failed,near_limit, or * (default: its end)")
}

func (s *submission) fillTelling(_ *cobra.Command, r *wire.Submit) error {
	if len(s.notify) > 0 && s.webhook == "" {
		return usage("--notify needs --webhook URL; for the events of all your jobs: berth webhook add URL --user %s", thisUser())
	}
	r.WebhookURL, r.Notify = s.webhook, s.notify
	return nil
}
