package intake

import (
	"fmt"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/auth"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/request"
)

// Basis is what decides about a request for GPUs, apart from the request itself.
type Basis struct {
	Settings model.Settings                                // of the state
	Job      func(model.JobID) (job model.Job, found bool) // returns a job of the state
	Yields   func(*model.Spec) bool                        // reports whether a job that does not say so may be preempted
	Now      model.Time
	Caller   *auth.Caller
	Projects func() []string // of the caller
	Rules    *CommandRules
	Target   func(url string) error                    // returns why a webhook may not have this address
	Possible func(*model.Spec) (fits bool, why string) // reports whether the cluster's nodes have room for a job
}

// Prepare converts a submission to a command: names are resolved, defaults filled in and rights checked here, before the log. Each step
// relies on those before it:
//
//  1. The partition and the QOS fill in the request, and the next step reads that like the user's own.
//  2. All fields are read, each by itself, then what depends on several.
//  3. The cluster's values of fields that are still open are filled in.
//  4. The limits of the partition and the QOS are checked, which hold for the cluster's values, too.
//  5. The rights of the caller are checked, and determine the user.
//  6. The webhook and the rules for commands are checked for the whole job.
//  7. Whether the job may be preempted follows from the limits of its user and its project.
//  8. Some nodes must have room for it, which may be booked for its user.
func Prepare(b *Basis, r *wire.Submit) (*command.Submit, error) {
	parts, err := partitionsOf(r.Slurm, &b.Settings.Defaults)
	if err != nil {
		return nil, err
	}
	parts.fill(r)                  // 1.
	c, err := submission(r, b.Now) // 2.
	if err != nil {
		return nil, err
	}
	s := &c.Spec
	complete(r, s, &b.Settings)            // 3.
	if err := parts.check(s); err != nil { // 4.
		return nil, err
	}
	if s.User, err = b.entitled(r.User, s.Project, s.Class); err != nil { // 5.
		return nil, err
	}
	if err := b.permit(c); err != nil { // 6.
		return nil, err
	}
	s.Preemptible = !s.WithoutGPUs() && Or(r.Preemptible, b.Yields(s)) // 7.
	c.Capped = !b.Caller.Operates()
	return c, b.fits(s) // 8.
}

// prepareImported is [Prepare] for a job of a state file, with steps 2 and 6 alone: it was complete where it comes from, is not the job of
// the caller, and nodes may join later.
func prepareImported(b *Basis, r *wire.Submit) (*command.Submit, error) {
	c, err := submission(r, b.Now)
	if err != nil {
		return nil, err
	}
	if err := b.permit(c); err != nil {
		return nil, err
	}
	return c, c.Validate()
}

// permit returns an error if the cluster does not allow the webhook of a job, or what the job runs.
func (b *Basis) permit(c *command.Submit) error {
	if err := b.reaches(c.Spec.WebhookURL); err != nil {
		return err
	}
	return b.Rules.Check(c)
}

// reaches returns an error if a job or a service may not name an address for notifications.
func (b *Basis) reaches(url string) error {
	if url == "" {
		return nil
	}
	return Named("webhook_url", b.Target(url))
}

// fits returns an error if a job could never run on the cluster's nodes.
func (b *Basis) fits(s *model.Spec) error {
	if fits, why := b.Possible(s); !fits {
		return problem.Refuse(wire.CodeNeverFits, why)
	}
	return nil
}

// Longer returns an error if an existing job may not get another time limit. Operators may give more than its partition allows.
func (b *Basis) Longer(s *model.Spec, limit time.Duration) error {
	err := b.Rules.longer(limit)
	if err != nil || s.Slurm == "" || b.Caller.Operates() {
		return err
	}
	r, err := request.Decode(s.Slurm)
	if err != nil {
		return fmt.Errorf("what the job asks for in Slurm's language cannot be read: %w", err)
	}
	d := b.Settings.Defaults
	d.RefuseUnknown = false // the job is there
	parts, err := partitionsOf(r, &d)
	if err != nil {
		return err
	}
	return parts.longer(limit)
}
