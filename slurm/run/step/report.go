package step

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/run/link"
)

// together is for how long ends are collected, so that tasks of a node that end alike are one message.
const together = 100 * time.Millisecond

// report follows the ends of a step's tasks.
type report struct {
	job     uint64
	created *link.Created
	node    map[int]string // of each task that runs
	pending []ends
	code    int // so far
}

// ends are tasks of a node that have ended alike.
type ends struct {
	node   string
	status unix.WaitStatus
	ranks  []int
}

func newReport(job uint64, created *link.Created) *report {
	r := &report{job: job, created: created, node: map[int]string{}}
	for _, place := range created.Nodes {
		for _, rank := range place.Ranks {
			r.node[rank] = place.Name
		}
	}
	return r
}

func (r *report) open() int  { return len(r.node) }
func (r *report) ended() int { return r.created.Tasks - len(r.node) }

// take notes what an event says, and reports whether a task has failed.
func (r *report) take(f link.Frame) (bad bool) {
	switch f.Kind { //nolint:exhaustive // no others are about ends
	case link.KindExit:
		rank, number, ok := link.ReadExit(f.Body)
		node, runs := r.node[rank]
		if !ok || !runs {
			return false
		}
		delete(r.node, rank)
		status := unix.WaitStatus(number)
		r.code = max(r.code, codeOf(status))
		if status == 0 {
			return false
		}
		for i := range r.pending {
			if e := &r.pending[i]; e.node == node && e.status == status {
				e.ranks = append(e.ranks, rank)
				return true
			}
		}
		r.pending = append(r.pending, ends{node, status, []int{rank}})
		return true
	case link.KindLost:
		var lost link.Lost
		if json.Unmarshal(f.Body, &lost) != nil {
			return false
		}
		r.flush()
		say("error: Node failure on %s: %s can be reached no more, and ends", lost.Node, tasks(lost.Ranks))
		for _, rank := range lost.Ranks {
			delete(r.node, rank)
		}
		r.code = max(r.code, failed)
		return true
	}
	return false
}

// endsFirst reports whether an event is the end of the first task, or of its node.
func endsFirst(f link.Frame) bool {
	rank, _, ok := link.ReadExit(f.Body)
	return f.Kind == link.KindLost || f.Kind == link.KindExit && ok && rank == 0
}

// codeOf returns the exit code for a status of wait(2).
func codeOf(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// flush writes the ends that were collected.
func (r *report) flush() {
	for _, e := range r.pending {
		what := fmt.Sprintf("Exited with exit code %d", e.status.ExitStatus())
		if e.status.Signaled() {
			what = describe(e.status)
		}
		say("error: %s: %s: %s", e.node, tasks(e.ranks), what)
	}
	r.pending = nil
}

// describe returns the words of C libraries for a signal.
func describe(status unix.WaitStatus) string {
	text := status.Signal().String()
	text = strings.ToUpper(text[:1]) + text[1:]
	if status.CoreDump() {
		text += " (core dumped)"
	}
	return text
}

// tasks returns tasks as Slurm names them: task 3, or tasks 0-2,5.
func tasks(ranks []int) string {
	if len(ranks) == 1 {
		return "task " + strconv.Itoa(ranks[0])
	}
	return "tasks " + ranges(ranks)
}

// ranges returns numbers as 0-2,5.
func ranges(ranks []int) string {
	list := slices.Sorted(slices.Values(ranks))
	var parts []string
	for i := 0; i < len(list); {
		to := i
		for to+1 < len(list) && list[to+1] == list[to]+1 {
			to++
		}
		part := strconv.Itoa(list[i])
		if to > i {
			part += "-" + strconv.Itoa(list[to])
		}
		parts = append(parts, part)
		i = to + 1
	}
	return strings.Join(parts, ",")
}

// states writes which tasks run and which have ended.
func (r *report) states() {
	var running, exited []int
	for rank := range r.created.Tasks {
		if _, runs := r.node[rank]; runs {
			running = append(running, rank)
		} else {
			exited = append(exited, rank)
		}
	}
	if len(running) > 0 {
		say("StepId=%d.%d %s: running", r.job, r.created.Step, tasks(running))
	}
	if len(exited) > 0 {
		say("StepId=%d.%d %s: exited", r.job, r.created.Step, tasks(exited))
	}
}
