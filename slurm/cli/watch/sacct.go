package watch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/option"
)

func sacctOptions() []option.Option {
	v := option.TakesValue
	return append([]option.Option{
		{Name: "accounts", Others: []string{"account"}, Short: 'A', Takes: v, Form: "NAMES"},
		{Name: "allusers", Short: 'a'},
		{Name: "allocations", Short: 'X'},
		{Name: "allclusters", Short: 'L'},
		{Name: "brief", Short: 'b'},
		{Name: "completion", Short: 'c'},
		{Name: "constraints", Short: 'C', Takes: v, Form: "LIST"},
		{Name: "delimiter", Takes: v, Form: "TEXT"},
		{Name: "duplicates", Short: 'D'},
		{Name: "endtime", Short: 'E', Takes: v, Form: "TIME"},
		{Name: "format", Short: 'o', Takes: v, Form: "FIELDS"},
		{Name: "helpformat", Short: 'e'},
		{Name: "jobs", Others: []string{"job"}, Short: 'j', Takes: v, Form: "IDS"},
		{Name: "long", Short: 'l'},
		{Name: "name", Takes: v, Form: "NAMES"},
		{Name: "noheader", Short: 'n'},
		{Name: "nodelist", Short: 'N', Takes: v, Form: "NODES"},
		{Name: "parsable", Short: 'p'},
		{Name: "parsable2", Short: 'P'},
		{Name: "partition", Short: 'r', Takes: v, Form: "NAMES"},
		{Name: "qos", Short: 'q', Takes: v, Form: "NAMES"},
		{Name: "starttime", Short: 'S', Takes: v, Form: "TIME"},
		{Name: "state", Short: 's', Takes: v, Form: "STATES"},
		{Name: "truncate", Short: 'T'},
		{Name: "units", Takes: v, Form: "K|M|G|T"},
		{Name: "user", Others: []string{"uid"}, Short: 'u', Takes: v, Form: "NAMES"},
		{Name: "array"},
		{Name: "json"},
		{Name: "yaml"},
	}, common()...)
}

// accounting is what sacct is asked for.
type accounting struct {
	filter jobFilter
	refs   []form.JobRef
	since  time.Time // zero: from the beginning
	until  time.Time
	steps  bool // a row of the batch script below each job that has started
	unit   string
}

// Sacct shows jobs, also those that have ended.
func Sacct(h *host.Host, args []string, stdout, stderr io.Writer) int {
	return newProgram(h, "sacct", stdout, stderr).runSacct(args)
}

// runSacct carries out a command line and returns the exit code.
func (p *program) runSacct(args []string) int {
	return p.carryOut(args, sacctOptions(), p.sacct)
}

func (p *program) sacct(line *option.Line) error {
	if line.Has("helpformat") {
		for _, f := range format.SacctFields() {
			fmt.Fprintln(p.out, f.Names[0])
		}
		return nil
	}
	if len(line.Words) > 0 {
		return fmt.Errorf("Unknown arguments: %s; jobs are named by -j", strings.Join(line.Words, " ")) //nolint:staticcheck // Slurm's words
	}
	if err := without(line, "json", "yaml"); err != nil {
		return err
	}
	columns, err := sacctFormat(line)
	if err != nil {
		return err
	}
	a, err := p.accounting(line)
	if err != nil {
		return err
	}
	rows, err := p.accounted(&a)
	if err != nil {
		return err
	}
	return p.printAccounts(columns, !line.Has("noheader"), &a, rows)
}

// longSacct are the fields of -l that Berth has.
const longSacct = "jobid,jobidraw,jobname,partition,maxvmsize,avevmsize,maxrss,averss,avecpu,alloccpus,elapsed,state,exitcode,reqmem,alloctres"

func sacctFormat(line *option.Line) (format.Format, error) {
	text := strings.Join(line.All("format"), ",")
	if text == "" {
		text = os.Getenv("SACCT_FORMAT")
	}
	switch {
	case text != "":
	case line.Has("long"):
		text = longSacct
	case line.Has("brief"):
		text = format.BriefSacct
	default:
		text = format.DefaultSacct
	}
	how := format.Padded
	switch {
	case line.Has("parsable2"):
		how = format.Between
	case line.Has("parsable"):
		how = format.Trailing
	}
	delimiter, _ := line.Last("delimiter")
	return format.Sacct(text, how, delimiter)
}

// accounting reads the options.
func (p *program) accounting(line *option.Line) (a accounting, err error) {
	a = accounting{steps: !line.Has("allocations"), until: p.now, filter: jobFilter{
		names: listOf(line, "name", ""), accounts: listOf(line, "accounts", ""), partitions: listOf(line, "partition", ""), qos: listOf(line, "qos", ""),
	}}
	for _, word := range listOf(line, "user", "") {
		a.filter.users = append(a.filter.users, userOf(word))
	}
	if a.refs, err = refsOf(strings.Join(line.All("jobs"), ",")); err != nil {
		return a, err
	}
	if len(a.filter.users) == 0 && !line.Has("allusers") && len(a.refs) == 0 {
		api, err := p.api()
		if err != nil {
			return a, err
		}
		a.filter.users = []string{p.host.Me(p.ctx, api)}
	}
	if text, given := line.Last("state"); given {
		if a.filter.states, err = format.ParseStates(text); err != nil {
			return a, fmt.Errorf("Invalid job state specified: %w", err) //nolint:staticcheck // Slurm's words
		}
	}
	if a.unit, _ = line.Last("units"); a.unit != "" && !strings.Contains("KMGT", strings.ToUpper(a.unit)) {
		return a, fmt.Errorf("--units: %q is no unit: write K, M, G or T", a.unit)
	}
	a.unit = strings.ToUpper(a.unit)
	return a, a.times(line, p.now)
}

// times reads from when to when.
func (a *accounting) times(line *option.Line, now time.Time) error {
	switch text, given := line.Last("starttime"); {
	case given:
		m, err := form.ParsePast(text, now)
		if err != nil {
			return fmt.Errorf("--starttime: %w", err)
		}
		a.since = m.At
	case len(a.refs) > 0:
	case len(a.filter.states) > 0:
		a.since = now
	default:
		a.since = time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	}
	if text, given := line.Last("endtime"); given {
		m, err := form.ParsePast(text, now)
		if err != nil {
			return fmt.Errorf("--endtime: %w", err)
		}
		a.until = m.At
	}
	if a.until.Before(a.since) {
		return fmt.Errorf("the end %s is before the start %s: give an earlier --starttime", moment(a.until, ""), moment(a.since, ""))
	}
	return nil
}

// accounted returns the rows that are asked for, by their numbers.
func (p *program) accounted(a *accounting) (rows []*row, err error) {
	if len(a.refs) > 0 {
		for _, ref := range a.refs {
			list, err := p.named(ref, true)
			switch {
			case missing(err) || err == errNoJob: //nolint:errorlint // it is never wrapped
				continue
			case err != nil:
				return nil, refused(loadJobs, err)
			}
			rows = append(rows, list...)
		}
	} else if rows, err = p.accountedAll(a); err != nil {
		return nil, refused(loadJobs, err)
	}
	rows = slices.DeleteFunc(rows, func(r *row) bool { return !a.wants(r) })
	slices.SortStableFunc(rows, func(x, y *row) int {
		return cmp.Or(cmp.Compare(x.number, y.number), slices.Compare(x.tasks, y.tasks))
	})
	return slices.CompactFunc(rows, func(x, y *row) bool { return x.number == y.number && slices.Equal(x.tasks, y.tasks) }), nil
}

// accountedAll returns the rows of what waits and runs, and of what has ended since the start.
func (p *program) accountedAll(a *accounting) ([]*row, error) {
	user := ""
	if len(a.filter.users) == 1 {
		user = a.filter.users[0]
	}
	jobs, err := p.queue(user, 0)
	if err != nil {
		return nil, err
	}
	open := make(map[string]bool, len(jobs))
	for i := range jobs {
		open[jobs[i].ID] = true
	}
	jobs = slices.DeleteFunc(jobs, func(j wire.Job) bool { return !chosen(a.filter.names, p.rowOf(&j).name()) })
	api, err := p.api()
	if err != nil {
		return nil, err
	}
	q := client.HistoryQuery{User: user, Since: a.since, Limit: pageSize}
	for {
		page, err := api.Operator().History(p.ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Jobs {
			if job := &page.Jobs[i].Job; !open[job.ID] && chosen(a.filter.names, p.rowOf(job).name()) {
				jobs = append(jobs, *job)
			}
		}
		if q.Before = page.Next; q.Before == "" {
			return p.rows(jobs, true, "")
		}
	}
}

// wants reports whether a row is asked for: it was in one of the states within the span of time.
func (a *accounting) wants(r *row) bool {
	if !a.filter.matches(r) || !chosen(a.filter.users, r.job.User) || r.job.SubmittedAt.After(a.until) ||
		r.ended() && r.job.EndedAt.Before(a.since) {
		return false
	}
	if len(a.filter.states) == 0 {
		return true
	}
	for _, s := range a.filter.states {
		switch {
		case s == format.Running && !r.start().IsZero() && !r.start().After(a.until):
			return true
		case s == accountState(r) && (!s.Ended() || !r.job.EndedAt.After(a.until)):
			return true
		}
	}
	return false
}

// accountState returns the state that sacct shows: it has no words for what is short.
func accountState(r *row) format.State {
	switch s := r.state(); s { //nolint:exhaustive // the others stay
	case format.Completing, format.Configuring:
		return format.Running
	default:
		return s
	}
}

// printAccounts prints rows, each with its steps.
func (p *program) printAccounts(columns format.Format, header bool, a *accounting, rows []*row) error {
	cells := sacctCells(a.unit)
	var lines []func(string) string
	for i, r := range rows {
		step := ""
		for _, ref := range a.refs {
			if ref.Job == r.number && (len(ref.Tasks) == 0 || slices.Equal(ref.Tasks, r.tasks)) {
				step = ref.Step
			}
		}
		if step == "" {
			lines = append(lines, cellsOf(cells, rows[i]))
		}
		if (a.steps && step == "" || step == "batch") && !r.start().IsZero() {
			lines = append(lines, batchOf(cells, rows[i]))
		}
	}
	_, err := io.WriteString(p.out, columns.Print(header, lines))
	return err
}

func cellsOf(cells map[string]func(*row) string, r *row) func(string) string {
	return func(key string) string {
		if cell := cells[key]; cell != nil {
			return cell(r)
		}
		return ""
	}
}
