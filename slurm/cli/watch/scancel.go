package watch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/cli/reach"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/option"
	"github.com/berth-gpu/berth/slurm/run/link"
)

func scancelOptions() []option.Option {
	v := option.TakesValue
	return append([]option.Option{
		{Name: "account", Short: 'A', Takes: v, Form: "NAME"},
		{Name: "batch", Short: 'b'},
		{Name: "ctld"},
		{Name: "full", Short: 'f'},
		{Name: "hurry", Short: 'H'},
		{Name: "interactive", Short: 'i'},
		{Name: "me"},
		{Name: "name", Others: []string{"jobname"}, Short: 'n', Takes: v, Form: "NAME"},
		{Name: "partition", Short: 'p', Takes: v, Form: "NAME"},
		{Name: "qos", Short: 'q', Takes: v, Form: "NAME"},
		{Name: "signal", Short: 's', Takes: v, Form: "SIGNAL"},
		{Name: "state", Short: 't', Takes: v, Form: "STATE"},
		{Name: "user", Short: 'u', Takes: v, Form: "NAME"},
		{Name: "nodelist", Short: 'w', Takes: v, Form: "NODES"},
		{Name: "reservation", Short: 'R', Takes: v, Form: "NAME"},
		{Name: "wckey", Takes: v, Form: "NAME"},
		{Name: "sibling", Takes: v, Form: "NAME"},
	}, common()...)
}

// cancellation is what scancel is asked for.
type cancellation struct {
	filter   jobFilter
	filtered bool
	ask      *bufio.Reader // nil: without questions
	signal   *link.Signal  // in place of the end of the job; nil: the job ends
	quiet    bool
	verbose  bool
}

// Scancel ends jobs.
func Scancel(h *host.Host, args []string, stdout, stderr io.Writer) int {
	return newProgram(h, "scancel", stdout, stderr).runScancel(args)
}

// runScancel carries out a command line and returns the exit code.
func (p *program) runScancel(args []string) int {
	line, code, done := p.parse(args, scancelOptions())
	if done {
		return code
	}
	c, err := p.cancellation(&line)
	if err != nil {
		return p.fail(err)
	}
	var words []string
	for _, word := range line.Words {
		words = append(words, strings.Fields(word)...)
	}
	if len(words) == 0 && !c.filtered {
		return p.fail(errors.New("No job identification provided")) //nolint:staticcheck // Slurm's words
	}
	if len(words) == 0 {
		return p.cancelChosen(c)
	}
	for _, word := range words {
		if err := p.cancelNamed(c, word); err != nil {
			code = 1
			if !c.quiet || !missing(err) {
				p.fail(err)
			}
		}
	}
	return code
}

func (p *program) cancellation(line *option.Line) (*cancellation, error) {
	if err := without(line, "reservation", "wckey", "sibling"); err != nil {
		return nil, err
	}
	for _, name := range []string{"user", "account", "name", "partition", "qos", "state", "nodelist"} {
		if value, given := line.Last(name); given && strings.Trim(value, ", ") == "" {
			return nil, fmt.Errorf("--%s has no value, so that all jobs would be meant: give a value, or leave the option out", name)
		}
	}
	var sig *link.Signal
	if text, given := line.Last("signal"); given {
		name, err := form.ParseSignal(text)
		if err != nil {
			return nil, fmt.Errorf("--signal: %w", err)
		}
		if full := line.Has("full"); name != "KILL" {
			sig = &link.Signal{Number: form.SignalNumber(name), Script: full || line.Has("batch"), Group: full, Steps: full || !line.Has("batch"), Step: -1}
		}
	}
	c := &cancellation{signal: sig, quiet: line.Has("quiet"), verbose: line.Has("verbose"), filter: jobFilter{
		accounts: listOf(line, "account", "SCANCEL_ACCOUNT"), names: listOf(line, "name", "SCANCEL_NAME"), partitions: listOf(line, "partition", "SCANCEL_PARTITION"),
		qos: listOf(line, "qos", "SCANCEL_QOS"),
	}}
	if line.Has("interactive") {
		c.ask = bufio.NewReader(os.Stdin)
	}
	f := &c.filter
	for _, word := range listOf(line, "user", "SCANCEL_USER") {
		f.users = append(f.users, userOf(word))
	}
	var err error
	if text, given := either(line, "state", "SCANCEL_STATE"); given {
		if f.states, err = format.ParseStates(text); err != nil {
			return nil, fmt.Errorf("Invalid job state specified: %w", err) //nolint:staticcheck // Slurm's words
		}
		if slices.Contains(f.states, format.Running) {
			f.states = append(f.states, format.Configuring, format.Completing)
		}
	}
	if text, given := line.Last("nodelist"); given {
		if f.nodes, err = hostlist.Expand(text); err != nil {
			return nil, err
		}
	}
	c.filtered = len(f.users)+len(f.accounts)+len(f.names)+len(f.partitions)+len(f.qos)+len(f.states)+len(f.nodes) > 0 || line.Has("me")
	if c.filtered && len(f.users) == 0 && (line.Has("me") || len(line.Words) == 0) {
		api, err := p.api()
		if err != nil {
			return nil, err
		}
		f.users = []string{p.host.Me(p.ctx, api)}
	}
	return c, nil
}

// cancelNamed ends the job that a word names.
func (p *program) cancelNamed(c *cancellation, word string) error {
	ref, err := form.ParseJob(word)
	if err != nil {
		return fmt.Errorf("Invalid job id %s: %w", word, err) //nolint:staticcheck // Slurm's words
	}
	if n, err := strconv.Atoi(ref.Step); err == nil {
		c = c.ofStep(n)
	} else if ref.Step != "" {
		return fmt.Errorf("%s names no step of srun, so that it cannot be ended by itself: name a step such as %d.0, or the job %d", word, ref.Job, ref.Job)
	}
	if c.filtered || c.ask != nil || c.signal != nil {
		rows, err := p.named(ref, true)
		if missing(err) || errors.Is(err, errNoJob) {
			return cancelError(ref.String(), err)
		}
		if err != nil {
			return refused(loadJobs, err)
		}
		rows = slices.DeleteFunc(rows, func(r *row) bool { return !c.filter.wants(r) })
		return p.cancelRows(c, rows)
	}
	return p.cancel(c, ref.String(), fmt.Sprint(ref.Job), form.Array{Indices: ref.Tasks}.Berth())
}

// cancelChosen ends all jobs that the options choose.
func (p *program) cancelChosen(c *cancellation) int {
	rows, err := p.squeueRows(nil, &c.filter, true)
	if err != nil {
		return p.fail(err)
	}
	rows = slices.DeleteFunc(rows, func(r *row) bool { return !c.filter.wants(r) })
	if err := p.cancelRows(c, rows); err != nil {
		return p.fail(err)
	}
	return 0
}

// cancelRows ends the jobs and tasks of rows. It goes on after an error, and returns the first.
func (p *program) cancelRows(c *cancellation, rows []*row) (first error) {
	for _, r := range rows {
		if c.ask != nil {
			fmt.Fprintf(p.out, "Cancel job_id=%s name=%s partition=%s [y/n]? ", r.id(), r.name(), r.partition())
			answer, err := c.ask.ReadString('\n')
			if err != nil && answer == "" {
				return fmt.Errorf("no answer about job %s: %w", r.id(), err)
			}
			if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
				continue
			}
		}
		if err := p.end(c, r); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// ofStep returns the cancellation for one step of a job: a signal, or the end of its tasks.
func (c *cancellation) ofStep(step int) *cancellation {
	one, sig := *c, link.Signal{Number: form.SignalNumber("TERM"), End: true}
	if c.signal != nil {
		sig = *c.signal
	}
	sig.Steps, sig.Step = true, step
	one.signal = &sig
	return &one
}

// end ends the jobs and tasks of a row, or sends them a signal.
func (p *program) end(c *cancellation, r *row) error {
	tasks := form.Array{Indices: r.tasks}.Berth()
	if c.signal == nil {
		return p.cancel(c, r.id(), r.job.ID, tasks)
	}
	api, err := p.api()
	if err == nil {
		err = reach.Signal(p.ctx, api, r.job.ID, tasks, *c.signal)
	}
	if err != nil {
		return cancelError(r.id(), err)
	}
	return nil
}

// cancel ends a job, or tasks of it. That it has ended already is no error.
func (p *program) cancel(c *cancellation, shown, id, tasks string) error {
	api, err := p.api()
	if err != nil {
		return err
	}
	if tasks == "" {
		tasks = client.AllTasks
	}
	if c.verbose {
		fmt.Fprintf(p.errs, "scancel: Terminating job %s\n", shown)
	}
	_, err = api.Cancel(p.ctx, id, tasks, "")
	if e, is := errors.AsType[*wire.Problem](err); is && e.Code == model.CodeTerminal.String() {
		return nil
	}
	if err != nil {
		return cancelError(shown, err)
	}
	return nil
}

// cancelError returns the error of a job that cannot be ended, in Slurm's words where it has them.
func cancelError(shown string, err error) error {
	switch p, is := errors.AsType[*wire.Problem](err); {
	case missing(err) || errors.Is(err, errNoJob):
		return fmt.Errorf("Kill job error on job id %s: %w", shown, noJob{err}) //nolint:staticcheck // Slurm's words
	case is && p.Code == model.CodeDenied.String():
		return fmt.Errorf("Kill job error on job id %s: Access/permission denied: %w", shown, err) //nolint:staticcheck // Slurm's words
	}
	return fmt.Errorf("Kill job error on job id %s: %w", shown, err) //nolint:staticcheck // Slurm's words
}

// noJob is the error of a job that does not exist, in Slurm's words.
type noJob struct{ err error }

func (noJob) Error() string   { return errNoJob.Error() }
func (e noJob) Unwrap() error { return e.err }
