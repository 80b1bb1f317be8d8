package jobs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
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
		return cli.Usage("--notify needs --webhook URL; for the events of all your jobs: berth webhook add URL --user %s", cli.ThisUser())
	}
	r.WebhookURL, r.Notify = s.webhook, s.notify
	return nil
}

// fillWarning parses "USR1@300", or Slurm's "B:USR1@300".
func (s *submission) fillWarning(r *wire.Submit) error {
	if s.warn == "" {
		return nil
	}
	name, before, timed := strings.Cut(strings.TrimPrefix(s.warn, "B:"), "@")
	r.WarnSignal = name
	if !timed {
		return nil
	}
	v, err := wire.ParseDuration(before)
	if err != nil {
		return cli.Usage("--signal %s: the time after @ %w", s.warn, err)
	}
	d := wire.Duration(v)
	r.WarnBefore = &d
	return nil
}
