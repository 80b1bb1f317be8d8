package watch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/option"
)

// each changes all jobs and tasks that words name. It goes on after an error.
func (p *program) each(words []string, change func(p *program, id, tasks string) error) error {
	refs, err := refsOf(strings.Join(words, ","))
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		return errors.New("no job is named: write its id, such as 12, 12_3 or 12_[1-4]")
	}
	var faults []string
	for _, ref := range refs {
		if ref.Step != "" {
			return fmt.Errorf("%s names a step: name the job %d", ref, ref.Job)
		}
		err := change(p, strconv.FormatUint(ref.Job, 10), form.Array{Indices: ref.Tasks}.Berth())
		if err != nil {
			faults = append(faults, changeError(ref.String(), err))
		}
	}
	if len(faults) > 0 {
		return &invalid{strings.Join(faults, "\n")}
	}
	return nil
}

// changeError returns the error of a change of a job, in Slurm's words where it has them.
func changeError(id string, err error) string {
	if missing(err) {
		return "Invalid job id specified for job " + id
	}
	if cmdline.ExitCode(err) == cmdline.ExitUnreachable {
		return refused("slurm_update", err).Error()
	}
	if e, is := errors.AsType[*wire.Problem](err); is {
		switch e.Code {
		case model.CodeTerminal.String():
			return "Job/step already completing or completed for job " + id
		case model.CodeDenied.String():
			return "Access/permission denied for job " + id + ": " + cmdline.OneLine(err)
		case model.CodeNotLive.String():
			return "Job is pending execution for job " + id
		}
	}
	return cmdline.OneLine(err) + " for job " + id
}

// control is a request of the API that changes tasks of a job.
type control func(c client.Controls, ctx context.Context, id, tasks, note string) (*wire.Done, error)

// by returns the change that a request makes.
func by(request control) func(p *program, id, tasks string) error {
	return func(p *program, id, tasks string) error {
		api, err := p.api()
		if err != nil {
			return err
		}
		_, err = request(api.Controls(), p.ctx, id, tasks, "")
		return err
	}
}

// update changes a job or nodes: NAME=VALUE words of which one names what is changed.
func (p *program) update(_ *option.Line, args []string) error {
	pairs := map[string]string{}
	var order []string
	for _, word := range args {
		name, value, found := strings.Cut(word, "=")
		if !found {
			return fmt.Errorf("%q is no update: write NAME=VALUE", word)
		}
		lower := strings.ToLower(strings.TrimSuffix(name, "+"))
		if _, twice := pairs[lower]; twice {
			return fmt.Errorf("%s is given twice: keep one", name)
		}
		pairs[lower], order = value, append(order, word)
	}
	switch {
	case pairs["jobid"] != "" || pairs["job"] != "":
		return p.updateJob(pairs, order)
	case pairs["nodename"] != "":
		return p.updateNodes(pairs, order)
	case pairs["partitionname"] != "":
		return errors.New("partitions cannot be changed by scontrol: berth config set changes settings of the cluster")
	}
	return &invalid{"No valid entity in update command\nInput line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or \"SlurmctldDebug\""}
}

// unsupported returns the error of a word of an update.
func unsupported(word, remedy string) error {
	return &invalid{fmt.Sprintf("Update of this parameter is not supported: %s: %s\nRequest aborted", word, remedy)}
}

// updateJob carries out an update of jobs.
func (p *program) updateJob(pairs map[string]string, order []string) error {
	ids := pairs["jobid"] + pairs["job"]
	var changes []func(p *program, id, tasks string) error
	for _, word := range order {
		name, value, _ := strings.Cut(word, "=")
		switch strings.ToLower(strings.TrimSuffix(name, "+")) {
		case "jobid", "job":
		case "timelimit":
			change, err := limitChange(value, strings.HasSuffix(name, "+"))
			if err != nil {
				return err
			}
			changes = append(changes, change)
		case "nice", "priority":
			n, err := priorityOf(strings.ToLower(name), value)
			if err != nil {
				return err
			}
			changes = append(changes, priorityChange(n))
		case "dependency":
			if value != "" {
				return unsupported(word, "dependencies can only be removed, by Dependency= without a value")
			}
			changes = append(changes, dropDependencies)
		default:
			return unsupported(word, "TimeLimit, Nice, Priority and Dependency= are; cancel the job and submit it again to change more")
		}
	}
	if len(changes) == 0 {
		return errors.New("no change is given: write TimeLimit=, Nice=, Priority= or Dependency=")
	}
	for _, change := range changes {
		if err := p.each([]string{ids}, change); err != nil {
			return err
		}
	}
	return nil
}

// limitChange returns the change of a time limit: to a value, or by one that begins with + or whose name ends with +.
func limitChange(value string, more bool) (func(*program, string, string) error, error) {
	text, plus := strings.CutPrefix(value, "+")
	if strings.HasPrefix(value, "-") {
		return nil, fmt.Errorf("TimeLimit=%s: a limit can only be raised, because others may have planned by it", value)
	}
	span, err := form.ParseSpan(text)
	if err != nil {
		return nil, fmt.Errorf("TimeLimit: %w", err)
	}
	if span == form.Unlimited || span == 0 {
		return nil, fmt.Errorf("TimeLimit=%s: a limit cannot be removed: give a longer one", value)
	}
	body := &wire.Extend{}
	d := wire.Duration(form.WholeMinutes(span))
	if body.TimeLimit = &d; plus || more {
		body.By, body.TimeLimit = &d, nil
	}
	return func(p *program, id, tasks string) error {
		if err := wholeOnly(tasks); err != nil {
			return err
		}
		api, err := p.api()
		if err != nil {
			return err
		}
		_, err = api.Controls().Extend(p.ctx, id, body)
		return err
	}, nil
}

// wholeOnly refuses tasks of an array.
func wholeOnly(tasks string) error {
	if tasks != "" {
		return errors.New("single tasks of an array cannot be changed: name the job")
	}
	return nil
}

// The classes of priority that a value of Nice stands for.
const (
	niceLow    = 1
	niceNormal = 2
	niceHigh   = 3
)

// priorityOf returns the priority of Nice=N or Priority=N: a nice job is of the class below normal, and one with a number below 0 of the
// class above.
func priorityOf(name, value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s=%s is no whole number", name, value)
	case name == "priority":
		return n, nil
	case n > 0:
		return niceLow, nil
	case n < 0:
		return niceHigh, nil
	}
	return niceNormal, nil
}

func priorityChange(n int64) func(*program, string, string) error {
	return func(p *program, id, tasks string) error {
		if err := wholeOnly(tasks); err != nil {
			return err
		}
		api, err := p.api()
		if err != nil {
			return err
		}
		_, err = api.SetPriority(p.ctx, id, n)
		return err
	}
}

func dropDependencies(p *program, id, tasks string) error {
	if err := wholeOnly(tasks); err != nil {
		return err
	}
	api, err := p.api()
	if err != nil {
		return err
	}
	_, err = api.Controls().DropDependencies(p.ctx, id, "")
	return err
}

// updateNodes carries out an update of nodes.
func (p *program) updateNodes(pairs map[string]string, order []string) error {
	for _, word := range order {
		name, _, _ := strings.Cut(word, "=")
		switch strings.ToLower(name) {
		case "nodename", "state", "reason":
		default:
			return unsupported(word, "State and Reason are; berth label changes labels")
		}
	}
	body := &wire.SetMode{Reason: pairs["reason"]}
	switch state := strings.ToUpper(pairs["state"]); state {
	case "DRAIN", "FAIL", "DRAINED":
		body.Mode = model.ModeCordoned.String()
	case "DOWN":
		body.Mode = model.ModeDraining.String()
	case "RESUME", "UNDRAIN", "IDLE":
		body.Mode = model.ModeOpen.String()
	default:
		return fmt.Errorf("the value of State=%s is not supported: write DRAIN (no new jobs), DOWN (jobs are stopped, too) or RESUME", pairs["state"])
	}
	if body.Mode != model.ModeOpen.String() && body.Reason == "" {
		return &invalid{"You must specify a reason when DOWNING or DRAINING a node. Request denied"}
	}
	names, err := hostlist.Expand(pairs["nodename"])
	if err != nil {
		return err
	}
	api, err := p.api()
	if err != nil {
		return err
	}
	for _, name := range names {
		switch _, err := api.Operator().SetNodeMode(p.ctx, name, body); {
		case missing(err):
			return &invalid{"slurm_update error: Invalid node name specified: " + name}
		case err != nil:
			return refused("slurm_update", err)
		}
	}
	return nil
}
