package watch

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/option"
)

// loadJobs is how Slurm's programs call the request for jobs in errors.
const loadJobs = "slurm_load_jobs"

// keptFor is for how long squeue shows jobs that have ended, as Slurm does by default (MinJobAge).
const keptFor = 5 * time.Minute

func squeueOptions() []option.Option {
	v := option.TakesValue
	return append([]option.Option{
		{Name: "account", Short: 'A', Takes: v, Form: "NAMES"},
		{Name: "all", Short: 'a'},
		{Name: "array", Short: 'r'},
		{Name: "array-unique"},
		{Name: "noheader", Short: 'h'},
		{Name: "hide"},
		{Name: "jobs", Short: 'j', Takes: option.TakesOptional, Form: "IDS"},
		{Name: "long", Short: 'l'},
		{Name: "licenses", Short: 'L', Takes: v, Form: "NAMES"},
		{Name: "me"},
		{Name: "name", Short: 'n', Takes: v, Form: "NAMES"},
		{Name: "format", Short: 'o', Takes: v, Form: "FORMAT"},
		{Name: "Format", Short: 'O', Takes: v, Form: "NAMES"},
		{Name: "partition", Short: 'p', Takes: v, Form: "NAMES"},
		{Name: "qos", Short: 'q', Takes: v, Form: "NAMES"},
		{Name: "reservation", Short: 'R', Takes: v, Form: "NAME"},
		{Name: "steps", Short: 's', Takes: option.TakesOptional, Form: "IDS"},
		{Name: "sort", Short: 'S', Takes: v, Form: "FIELDS"},
		{Name: "start"},
		{Name: "states", Short: 't', Takes: v, Form: "STATES"},
		{Name: "user", Short: 'u', Takes: v, Form: "NAMES"},
		{Name: "nodelist", Short: 'w', Takes: v, Form: "NODES"},
		{Name: "iterate", Short: 'i', Takes: v, Form: "SECONDS"},
		{Name: "sibling"},
		{Name: "priority", Short: 'P'},
		{Name: "json"},
		{Name: "yaml"},
	}, common()...)
}

// jobFilter chooses jobs.
type jobFilter struct {
	users      []string
	accounts   []string
	names      []string
	partitions []string
	qos        []string
	nodes      []string
	states     []format.State // none: all that have not ended
	starts     bool           // only what waits
}

// Squeue shows what waits and runs.
func Squeue(h *host.Host, args []string, stdout, stderr io.Writer) int {
	return newProgram(h, "squeue", stdout, stderr).runSqueue(args)
}

// runSqueue carries out a command line and returns the exit code.
func (p *program) runSqueue(args []string) int {
	return p.carryOut(args, squeueOptions(), p.squeue)
}

func (p *program) squeue(line *option.Line) error {
	if _, given := line.Last("jobs"); given && len(line.Words) > 0 { // the value of -j is optional, so it may follow as a word
		line.Given = append(line.Given, option.Given{Option: "jobs", Value: line.Words[0]})
		line.Words = line.Words[1:]
	}
	if len(line.Words) > 0 {
		return fmt.Errorf("Unrecognized option: %s; jobs are named by -j", line.Words[0]) //nolint:staticcheck // Slurm's words
	}
	if err := without(line, "json", "yaml", "iterate", "steps", "licenses", "reservation"); err != nil {
		return err
	}
	columns, err := squeueFormat(line)
	if err != nil {
		return err
	}
	filter, err := p.squeueFilter(line)
	if err != nil {
		return err
	}
	refs, err := refsOf(strings.Join(line.All("jobs"), ","))
	if err != nil {
		return err
	}
	together := !line.Has("array") && !line.Has("array-unique") && os.Getenv("SQUEUE_ARRAY") == ""
	rows, err := p.squeueRows(refs, &filter, together)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r *row) bool { return !filter.wants(r) })
	if err := sortRows(line, rows); err != nil {
		return err
	}
	if line.Has("long") {
		fmt.Fprintln(p.out, p.now.Format(time.ANSIC))
	}
	return p.print(columns, !line.Has("noheader"), rows, squeueCells())
}

// refsOf returns the jobs of a list; empty parts are left out.
func refsOf(text string) ([]form.JobRef, error) {
	if text = strings.Trim(text, ", "); text == "" {
		return nil, nil
	}
	refs, err := form.ParseJobs(text)
	if err != nil {
		return nil, fmt.Errorf("Invalid job id: %w", err) //nolint:staticcheck // Slurm's words
	}
	return refs, nil
}

// without refuses options that Berth has no counterpart of.
func without(line *option.Line, names ...string) error {
	remedies := map[string]string{
		"json": "print the columns that you need with -o, or use berth queue --output json", "yaml": "print the columns that you need with -o, or use berth queue --output yaml",
		"iterate": "repeat the command, such as by watch(1), or use berth queue --watch", "steps": "the steps of a job are not listed; leave it out",
		"wckey": "Berth has no such keys; name the jobs by --name or --account", "sibling": "Berth has one cluster; leave it out",
		"licenses": "Berth counts no licenses; leave it out", "reservation": "berth reservations lists reservations; leave it out",
	}
	for _, name := range names {
		if line.Has(name) {
			return fmt.Errorf("--%s is not supported: %s", name, remedies[name])
		}
	}
	return nil
}

// print prints rows.
func (p *program) print(columns format.Format, header bool, rows []*row, cells map[string]func(*row) string) error {
	lines := make([]func(string) string, len(rows))
	for i, r := range rows {
		lines[i] = func(key string) string {
			if cell := cells[key]; cell != nil {
				return cell(r)
			}
			return "N/A"
		}
	}
	_, err := io.WriteString(p.out, columns.Print(header, lines))
	return err
}

// The formats of squeue's options.
const (
	longSqueue  = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
	startSqueue = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
)

func squeueFormat(line *option.Line) (format.Format, error) {
	if text, given := line.Last("format"); given {
		return format.Squeue(text)
	}
	if text, given := line.Last("Format"); given {
		return format.SqueueNames(text)
	}
	switch {
	case line.Has("start"):
		return format.Squeue(startSqueue)
	case line.Has("long"):
		return format.Squeue(longSqueue)
	}
	if text := os.Getenv("SQUEUE_FORMAT"); text != "" {
		return format.Squeue(text)
	}
	if text := os.Getenv("SQUEUE_FORMAT2"); text != "" {
		return format.SqueueNames(text)
	}
	return format.Squeue(format.DefaultSqueue)
}

func (p *program) squeueFilter(line *option.Line) (f jobFilter, err error) {
	f = jobFilter{
		accounts: listOf(line, "account", "SQUEUE_ACCOUNT"), names: listOf(line, "name", "SQUEUE_NAMES"), partitions: listOf(line, "partition", "SQUEUE_PARTITION"),
		qos: listOf(line, "qos", "SQUEUE_QOS"), starts: line.Has("start"),
	}
	for _, word := range listOf(line, "user", "SQUEUE_USERS") {
		f.users = append(f.users, userOf(word))
	}
	if line.Has("me") {
		api, err := p.api()
		if err != nil {
			return f, err
		}
		f.users = []string{p.host.Me(p.ctx, api)}
	}
	if text, given := either(line, "states", "SQUEUE_STATES"); given {
		if f.states, err = format.ParseStates(text); err != nil {
			return f, fmt.Errorf("Invalid job state specified: %w", err) //nolint:staticcheck // Slurm's words
		}
	}
	if text, given := line.Last("nodelist"); given {
		if f.nodes, err = hostlist.Expand(text); err != nil {
			return f, err
		}
	}
	return f, nil
}

// wants reports whether a row is chosen.
func (f *jobFilter) wants(r *row) bool {
	state := r.state()
	switch {
	case len(f.states) > 0 && !slices.Contains(f.states, state), len(f.states) == 0 && state.Ended(), f.starts && state != format.Pending:
		return false
	case state.Ended() && r.now.Sub(r.job.EndedAt) > keptFor:
		return false
	}
	return f.matches(r) && chosen(f.users, r.job.User) &&
		(len(f.nodes) == 0 || slices.ContainsFunc(r.nodes(), func(n string) bool { return slices.Contains(f.nodes, n) }))
}

// matches reports whether the names of a row are chosen.
func (f *jobFilter) matches(r *row) bool {
	return chosen(f.names, r.name()) && chosen(f.accounts, r.job.Project) && chosen(f.partitions, r.partition()) && chosen(f.qos, r.qos())
}

// chosen reports whether a word is in a list; an empty list has all.
func chosen(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }

// squeueRows returns the rows of references, or of the whole queue.
func (p *program) squeueRows(refs []form.JobRef, f *jobFilter, together bool) ([]*row, error) {
	if len(refs) == 0 {
		user, ended := "", 0
		if len(f.users) == 1 {
			user = f.users[0]
		}
		if slices.ContainsFunc(f.states, format.State.Ended) {
			ended = pageSize
		}
		jobs, err := p.queue(user, ended)
		if err != nil {
			return nil, refused(loadJobs, err)
		}
		states := ""
		if ended == 0 {
			states = "queued," + live
		}
		rows, err := p.rows(jobs, together, states)
		return rows, refused(loadJobs, err)
	}
	var rows []*row
	for _, ref := range refs {
		list, err := p.named(ref, together)
		gone := err == nil && !slices.ContainsFunc(list, func(r *row) bool { return !r.ended() || p.now.Sub(r.job.EndedAt) <= keptFor })
		switch {
		case missing(err) || err == errNoJob || gone: //nolint:errorlint // it is never wrapped
			if len(refs) == 1 {
				return nil, &invalid{loadJobs + " error: Invalid job id specified"}
			}
			continue
		case err != nil:
			return nil, refused(loadJobs, err)
		}
		rows = append(rows, list...)
	}
	return rows, nil
}
