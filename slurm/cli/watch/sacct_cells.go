package watch

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/format"
)

// sacctCells returns the columns of sacct by their keys; a key that is not there is empty, because Berth does not measure it. Amounts of
// memory are in a unit; empty: the largest that gives a whole number.
func sacctCells(unit string) map[string]func(*row) string {
	cells := map[string]func(*row) string{
		"jobid":       (*row).id,
		"jobidraw":    (*row).raw,
		"jobname":     (*row).name,
		"account":     func(r *row) string { return r.job.Project },
		"user":        func(r *row) string { return r.job.User },
		"uid":         func(r *row) string { return r.account().Uid },
		"gid":         func(r *row) string { return r.account().Gid },
		"group":       func(r *row) string { return r.users.group(r.job.User) },
		"partition":   (*row).partition,
		"qos":         (*row).qos,
		"priority":    func(r *row) string { return strconv.FormatInt(r.job.Priority, 10) },
		"state":       accountText,
		"exitcode":    (*row).exit,
		"reason":      (*row).reason,
		"nodelist":    func(r *row) string { return cmp.Or(words.List(r.nodes()), "None assigned") },
		"comment":     func(r *row) string { return r.slurm().Comment },
		"constraints": func(r *row) string { return r.job.Constraint },
		"reservation": func(r *row) string { return r.slurm().Asked.Reservation },
		"restarts":    func(r *row) string { return strconv.FormatInt(max(r.job.Attempts-1, 0), 10) },
		"workdir":     (*row).workdir,
		"submitline":  func(r *row) string { return r.slurm().ScriptName },
		"stdout":      filesOf(0),
		"stderr":      filesOf(1),
		"stdin":       filesOf(2),
		"cluster":     fixed(clusterName),
		"suspended":   fixed("00:00:00"),
		"associd":     fixed("0"),
		"reqmem": func(r *row) string {
			if m := r.memory(); m > 0 {
				return memoryIn(m*int64(r.nodeCount()), unit)
			}
			return "0"
		},
	}
	maps.Copy(cells, sacctSizes())
	maps.Copy(cells, sacctTimes())
	return cells
}

// filesOf returns one of the paths that [row.files] returns.
func filesOf(i int) func(*row) string {
	return func(r *row) string {
		stdout, stderr, stdin := r.files()
		return []string{stdout, stderr, stdin}[i]
	}
}

func sacctSizes() map[string]func(*row) string {
	number := func(n func(*row) int64) func(*row) string {
		return func(r *row) string { return strconv.FormatInt(n(r), 10) }
	}
	held := func(n func(*row) int64) func(*row) string {
		return number(func(r *row) int64 {
			if len(r.nodes()) == 0 {
				return 0
			}
			return n(r)
		})
	}
	nodes := func(r *row) int64 { return int64(r.nodeCount()) }
	return map[string]func(*row) string{
		"ncpus": held((*row).cpus), "alloccpus": held((*row).cpus), "reqcpus": number((*row).cpus),
		"nnodes": number(nodes), "allocnodes": held(nodes), "reqnodes": number(nodes),
		"reqtres": (*row).sortedTres,
		"alloctres": func(r *row) string {
			if len(r.nodes()) == 0 {
				return ""
			}
			return r.sortedTres()
		},
	}
}

func sacctTimes() map[string]func(*row) string {
	cpuTime := func(r *row) time.Duration { return r.elapsed() * time.Duration(r.cpus()) }
	whole := func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
	planned := func(r *row) string {
		until := r.now
		if !r.start().IsZero() {
			until = r.start()
		} else if r.ended() {
			until = r.job.EndedAt
		}
		if from := r.eligible(); !from.IsZero() && from.Before(until) {
			return form.FormatSpan(until.Sub(from))
		}
		return form.FormatSpan(0)
	}
	return map[string]func(*row) string{
		"elapsed":    func(r *row) string { return form.FormatSpan(r.elapsed()) },
		"elapsedraw": func(r *row) string { return whole(r.elapsed()) },
		"cputime":    func(r *row) string { return form.FormatSpan(cpuTime(r)) },
		"cputimeraw": func(r *row) string { return whole(cpuTime(r)) },
		"submit":     func(r *row) string { return moment(r.job.SubmittedAt, "Unknown") },
		"eligible":   func(r *row) string { return moment(r.eligible(), "Unknown") },
		"start": func(r *row) string {
			if r.ended() {
				return moment(r.start(), "None")
			}
			return moment(r.start(), "Unknown")
		},
		"end":       func(r *row) string { return moment(r.job.EndedAt, "Unknown") },
		"timelimit": func(r *row) string { return form.FormatSpan(r.limit()) },
		"timelimitraw": func(r *row) string {
			if r.limit() == form.Unlimited {
				return "UNLIMITED"
			}
			return strconv.FormatInt(int64(form.WholeMinutes(r.limit())/time.Minute), 10)
		},
		"planned": planned, "reserved": planned,
	}
}

// accountText returns the state as sacct shows it: a canceled job with the number of the user that canceled it.
func accountText(r *row) string {
	s := accountState(r)
	if by := r.canceledBy(); s == format.Cancelled && by != "" {
		return string(s) + " by " + by
	}
	return string(s)
}

// batchOf returns the cells of the step of a job's script.
func batchOf(cells map[string]func(*row) string, r *row) func(string) string {
	state, exit := accountState(r), r.exit()
	switch state { //nolint:exhaustive // the others are those of the job
	case format.Timeout, format.Cancelled, format.NodeFail, format.Deadline, format.Preempted:
		state, exit = format.Cancelled, "0:15"
	}
	job := cellsOf(cells, r)
	cpus := strconv.FormatInt(max(r.cpus()/int64(r.nodeCount()), 1), 10)
	return func(key string) string {
		switch key {
		case "jobid", "jobidraw":
			return job(key) + ".batch"
		case "jobname":
			return "batch"
		case "state":
			return string(state)
		case "exitcode":
			return exit
		case "ncpus", "alloccpus", "reqcpus":
			return cpus
		case "nnodes", "allocnodes", "ntasks", "reqnodes":
			return "1"
		case "nodelist":
			return r.batchHost()
		case "alloctres":
			return "cpu=" + cpus + ",node=1"
		case "submit":
			return job("start")
		case "account", "cluster", "elapsed", "elapsedraw", "start", "end", "cputime", "cputimeraw", "suspended", "associd":
			return job(key)
		}
		return ""
	}
}

// memoryIn returns an amount of memory in a unit, with two digits after the point unless it is whole.
func memoryIn(mib int64, unit string) string {
	if unit == "" {
		return form.FormatMemory(mib)
	}
	scale := map[string]float64{"K": 1.0 / 1024, "M": 1, "G": 1 << 10, "T": 1 << 20}[unit]
	return strings.TrimSuffix(fmt.Sprintf("%.2f", float64(mib)/scale), ".00") + unit
}
