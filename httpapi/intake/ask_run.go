package intake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func readPriority(r *wire.Submit, c *command.Submit, _ model.Time) error {
	priority, err := Count("priority", r.Priority, 1, model.MaxPriority, defaultPriority)
	c.Spec.Priority = uint8(priority)
	c.Spec.Class = model.JobClass(c.Spec.Priority)
	return err
}

// writePriority writes the priority as it was given, if it still means the same class.
func writePriority(j *model.Job, r *wire.Submit) {
	s := &j.Spec
	r.Priority = new(int64(s.Class))
	if s.Priority > 0 && model.JobClass(s.Priority) == s.Class {
		*r.Priority = int64(s.Priority)
	}
}

func usualPriority(r *wire.Submit, s *model.Spec, set *model.Settings) {
	if c := set.Defaults.Class; r.Priority == nil && c.Valid() {
		s.Class, s.Priority = c, uint8(c)
	}
}

// setPriority parses a class by name or number.
func setPriority(r *wire.Submit, v *FlagValue) error {
	for c := model.ClassLow; c <= model.ClassCritical; c++ {
		if strings.EqualFold(v.Text, c.String()) {
			r.Priority = new(int64(c))
			return nil
		}
	}
	n, err := strconv.ParseInt(v.Text, 10, 8)
	if err != nil {
		return fmt.Errorf("--priority: must be low, normal, high, critical or a number, not %q", v.Text)
	}
	r.Priority = &n
	return nil
}

func usualRetries(r *wire.Submit, s *model.Spec, set *model.Settings) {
	if r.MaxRetries == nil {
		s.MaxRetries = set.Tuning.Retries
	}
}

// readRetryOn parses which failures are retried.
func readRetryOn(r *wire.Submit, c *command.Submit, _ model.Time) error {
	codes := slices.Clone(r.RetryOn)
	slices.Sort(codes)
	var list []string
	for _, v := range slices.Compact(codes) {
		if v < 1 || v > 255 {
			return problem.Invalid("retry_on", "must hold exit codes from 1 to 255")
		}
		list = append(list, strconv.FormatInt(v, 10))
	}
	c.Spec.RetryOn = strings.Join(list, ",")
	return nil
}

func writeRetryOn(j *model.Job, r *wire.Submit) {
	for _, v := range listed(j.Spec.RetryOn) {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil { // the spec was validated
			r.RetryOn = append(r.RetryOn, n)
		}
	}
}

// readOnLost parses what follows when contact to the node is lost. It needs the time limit.
func readOnLost(r *wire.Submit, c *command.Submit, _ model.Time) error {
	s := &c.Spec
	switch r.OnLost {
	case "requeue":
		s.OnLost = model.OnLostRequeue
	case "hold":
		s.OnLost = model.OnLostHold
	case "fail":
		s.OnLost = model.OnLostFail
	case "":
		s.OnLost = model.OnLostHold
		if s.TimeLimit > 0 && s.TimeLimit <= HoldFrom {
			s.OnLost = model.OnLostRequeue
		}
	default:
		return problem.Invalid("on_lost", "must be requeue, hold or fail")
	}
	return nil
}

func writeOnLost(j *model.Job, r *wire.Submit) { r.OnLost = j.Spec.OnLost.String() }

// usualCheckpoints fills in the cluster's interval for jobs with a checkpoint signal.
func usualCheckpoints(r *wire.Submit, s *model.Spec, set *model.Settings) {
	if r.CheckpointInterval == nil && r.CheckpointIntervalS == nil && s.CheckpointSignal != "" {
		s.CheckpointInterval = set.Defaults.CheckpointInterval
	}
}

// readNotify parses the events of a job's own webhook.
func readNotify(r *wire.Submit, c *command.Submit, _ model.Time) error {
	if r.WebhookURL == "" {
		if len(r.Notify) > 0 {
			return problem.Invalid("notify", "needs a webhook_url; use POST /webhooks for the events of all jobs of a user")
		}
		return nil
	}
	s := &c.Spec
	s.Notify = model.NoticeSet(0).With(model.NoticeJobCompleted).With(model.NoticeJobFailed).With(model.NoticeJobCanceled)
	if len(r.Notify) == 0 {
		return nil
	}
	var err error
	s.Notify, err = model.ParseNotices(r.Notify, model.JobNotices())
	return problem.Renamed("notify", err)
}

func writeNotify(j *model.Job, r *wire.Submit) {
	if j.Spec.WebhookURL != "" {
		r.Notify = j.Spec.Notify.Names()
	}
}
