package watch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/option"
)

// null is Slurm's word for a text that is not there.
const null = "(null)"

// fixed returns a cell that is the same for all jobs.
func fixed(text string) func(*row) string { return func(*row) string { return text } }

// squeueCells returns the columns of squeue by their keys.
func squeueCells() map[string]func(*row) string {
	cells := map[string]func(*row) string{
		"account":     func(r *row) string { return cmp.Or(r.job.Project, null) },
		"jobid":       (*row).raw,
		"jobarrayid":  (*row).id,
		"arrayjobid":  func(r *row) string { return strconv.FormatUint(r.number, 10) },
		"arraytaskid": (*row).taskText,
		"batchhost":   (*row).batchHost,
		"name":        (*row).name,
		"comment":     func(r *row) string { return cmp.Or(r.slurm().Comment, null) },
		"nodelist":    func(r *row) string { return words.List(r.nodes()) },
		"reason":      (*row).reason,
		"reasonlist":  (*row).where,
		"partition":   (*row).partition,
		"qos":         (*row).qos,
		"state":       func(r *row) string { return string(r.state()) },
		"statecompact": func(r *row) string {
			return r.state().Compact()
		},
		"username":  func(r *row) string { return r.job.User },
		"userid":    func(r *row) string { return r.account().Uid },
		"groupid":   func(r *row) string { return r.account().Gid },
		"groupname": func(r *row) string { return r.users.group(r.job.User) },
		"priority":  func(r *row) string { return fmt.Sprintf("%.14f", float64(r.job.Priority)/math.MaxUint32) },
		"prioritylong": func(r *row) string {
			return strconv.FormatInt(r.job.Priority, 10)
		},
		"dependency":  func(r *row) string { return cmp.Or(r.dependency(), null) },
		"feature":     func(r *row) string { return cmp.Or(r.job.Constraint, null) },
		"command":     func(r *row) string { return cmp.Or(r.slurm().ScriptName, r.job.Command, null) },
		"workdir":     func(r *row) string { return cmp.Or(r.workdir(), null) },
		"reservation": func(r *row) string { return cmp.Or(r.slurm().Asked.Reservation, null) },
		"licenses":    func(r *row) string { return cmp.Or(r.slurm().Asked.Licenses, null) },
		"reqnodes":    func(r *row) string { return words.List(r.job.Nodelist) },
		"excnodes":    func(r *row) string { return words.List(r.job.Exclude) },
		"exit_code":   (*row).exit,
		"restartcnt":  func(r *row) string { return strconv.FormatInt(max(r.job.Attempts-1, 0), 10) },
		"cluster":     fixed(clusterName),
	}
	maps.Copy(cells, squeueTimes())
	maps.Copy(cells, squeueSizes())
	return cells
}

func squeueTimes() map[string]func(*row) string {
	return map[string]func(*row) string{
		"timelimit":    func(r *row) string { return form.FormatShortSpan(r.limit()) },
		"timeleft":     func(r *row) string { return form.FormatShortSpan(r.left()) },
		"timeused":     func(r *row) string { return form.FormatShortSpan(r.elapsed()) },
		"starttime":    func(r *row) string { return moment(r.expected(), "N/A") },
		"submittime":   func(r *row) string { return moment(r.job.SubmittedAt, "N/A") },
		"eligibletime": func(r *row) string { return moment(r.eligible(), "N/A") },
		"deadline":     func(r *row) string { return moment(r.job.Deadline, "N/A") },
		"endtime": func(r *row) string {
			if !r.start().IsZero() {
				return moment(r.finish(), "NONE")
			}
			return moment(r.finish(), "N/A")
		},
	}
}

func squeueSizes() map[string]func(*row) string {
	return map[string]func(*row) string{
		"tres-per-node": func(r *row) string { return cmp.Or(r.gres(), "N/A") },
		"tres-per-job":  func(r *row) string { return cmp.Or(r.slurm().Asked.GPUs, "N/A") },
		"tres-per-task": func(r *row) string { return cmp.Or(r.slurm().Asked.GPUsPerTask, "N/A") },
		"tres-alloc":    (*row).tres,
		"mincpus":       func(r *row) string { return strconv.Itoa(r.cpusPerTask()) },
		"cpus-per-task": func(r *row) string { return strconv.Itoa(r.cpusPerTask()) },
		"numcpus":       func(r *row) string { return strconv.FormatInt(r.cpus(), 10) },
		"numnodes":      func(r *row) string { return strconv.Itoa(r.nodeCount()) },
		"numtasks":      func(r *row) string { return strconv.Itoa(r.taskCount()) },
		"mintmpdisk":    fixed("0"),
		"minmemory": func(r *row) string {
			if m := r.memory(); m > 0 {
				return form.FormatMemory(m)
			}
			return "0"
		},
		"oversubscribe": fixed("OK"),
		"contiguous":    fixed("0"),
		"nice":          fixed("0"),
		"sockets":       fixed("*"),
		"cores":         fixed("*"),
		"threads":       fixed("*"),
		"sct":           fixed("*:*:*"),
		"corespec":      fixed("N/A"),
		"schednodes":    fixed(null),
		"wckey":         fixed(null),
		"requeue":       fixed("1"),
	}
}

// taskText returns the numbers of the tasks of a row.
func (r *row) taskText() string {
	switch {
	case len(r.tasks) == 0:
		return "N/A"
	case r.several():
		return r.indices()
	}
	return strconv.Itoa(r.tasks[0])
}

// batchHost returns the node that runs the script.
func (r *row) batchHost() string {
	if nodes := r.nodes(); len(nodes) > 0 && r.job.State != wire.StateQueued {
		return nodes[0]
	}
	return "n/a"
}

// where returns the nodes of the job, or in parentheses why it has none.
func (r *row) where() string {
	switch r.state() { //nolint:exhaustive // the others have nodes
	case format.Pending, format.Timeout, format.OutOfMemory, format.Deadline, format.Failed, format.NodeFail:
		return "(" + r.reason() + ")"
	}
	return words.List(r.nodes())
}

// sortRows sorts rows as -S says: letters of columns that commas join, with - in front for the other direction. By default what
// waits comes first, in the order of the queue, and then what runs.
func sortRows(line *option.Line, rows []*row) error {
	text, given := either(line, "sort", "SQUEUE_SORT")
	if !given {
		slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(rank(a.state()), rank(b.state())) })
		return nil
	}
	type key struct {
		letter string
		back   bool
	}
	var keys []key
	for part := range strings.SplitSeq(text, ",") {
		letter := strings.TrimLeft(part, "+-#")
		if len(letter) != 1 ||
			!slices.ContainsFunc(format.SqueueFields(), func(f format.Field) bool { return string(rune(f.Letter)) == letter }) {
			return fmt.Errorf("Invalid sort specification: %q; write letters of -o that commas join, with - in front for the other direction, such as -p,i", part) //nolint:staticcheck // Slurm's words
		}
		keys = append(keys, key{letter, strings.HasPrefix(part, "-")})
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		for _, k := range keys {
			c := compareBy(k.letter, a, b)
			if k.back {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return nil
}

// rank orders states.
func rank(s format.State) int {
	switch s { //nolint:exhaustive // the others have ended
	case format.Pending:
		return 1
	case format.Configuring:
		return 2
	case format.Running:
		return 3
	case format.Completing:
		return 4
	}
	return 0
}

// compareBy compares rows by the column of a letter.
func compareBy(letter string, a, b *row) int {
	switch letter {
	case "i", "A", "F", "K":
		return cmp.Or(cmp.Compare(a.number, b.number), slices.Compare(a.tasks, b.tasks))
	case "t", "T":
		return cmp.Compare(rank(a.state()), rank(b.state()))
	case "p", "Q":
		return cmp.Or(cmp.Compare(a.job.Priority, b.job.Priority), cmp.Compare(b.job.Position, a.job.Position))
	case "M":
		return cmp.Compare(a.elapsed(), b.elapsed())
	case "l":
		return cmp.Compare(a.limit(), b.limit())
	case "L":
		return cmp.Compare(a.left(), b.left())
	case "C":
		return cmp.Compare(a.cpus(), b.cpus())
	case "D":
		return cmp.Compare(a.nodeCount(), b.nodeCount())
	case "m":
		return cmp.Compare(a.memory(), b.memory())
	}
	key := ""
	for _, f := range format.SqueueFields() {
		if string(rune(f.Letter)) == letter {
			key = f.Key
		}
	}
	cell := squeueCells()[key]
	if cell == nil {
		return 0
	}
	return cmp.Compare(cell(a), cell(b))
}
