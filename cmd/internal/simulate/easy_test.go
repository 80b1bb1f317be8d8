package simulate

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
)

// With exact run times, backfill around one reservation is EASY as it is defined (Lifka 1995): jobs
// start in order of arrival, and past the first that finds no GPUs goes every job that leaves it some at
// the time at which it would have had some.
func TestEasyIsAsDefined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := easy{nodes: rapid.IntRange(1, 4).Draw(t, "nodes"), size: rapid.IntRange(1, 4).Draw(t, "GPUs of a node")}
		at := 0
		for i := range rapid.IntRange(1, 40).Draw(t, "jobs") {
			at += 10 * rapid.IntRange(0, 40).Draw(t, "pause") // nothing is expected to end within 10 s
			j := Job{ID: strconv.Itoa(i), User: "u", Submit: time.Duration(at) * time.Second, GPUs: uint32(rapid.IntRange(1, e.size).Draw(t, "GPUs"))}
			if nodes := rapid.IntRange(1, e.nodes).Draw(t, "nodes of a job"); nodes > 1 {
				j.GPUs, j.Nodes = uint32(nodes*e.size), uint32(nodes)
			}
			j.Duration = time.Duration(10*rapid.IntRange(2, 200).Draw(t, "run time")) * time.Second
			e.trace = append(e.trace, j)
		}
		var log bytes.Buffer
		o := options("fcfs")
		o.Nodes, o.GPUs, o.Log = e.nodes, e.size, &log
		o.Tuning.Backfill, o.Tuning.Depth, o.Tuning.NoPreemption = model.BackfillReserve, 1, true
		if _, err := Play(t.Context(), e.trace, o); err != nil {
			t.Fatal(err)
		}
		e.replay(t, readLog(t, &log))
	})
}

// easy replays a log and looks at it by the definition alone. Jobs are of one node or of several
// whole ones.
type easy struct {
	nodes, size int
	trace       []Job

	now   time.Duration
	waits []int
	runs  map[int][]int // jobs, and the nodes that they are on
	start map[int]time.Duration
	first int           // of those that waited at the last check
	due   time.Duration // when that was to start
}

func (e *easy) replay(t *rapid.T, log [][]string) {
	e.runs, e.start, e.first = map[int][]int{}, map[int]time.Duration{}, -1
	for i, v := range log {
		at, _ := strconv.ParseFloat(v[0], 64)
		e.now = time.Duration(at) * time.Second
		job, _ := strconv.Atoi(v[2])
		switch v[1] {
		case "submit":
			e.waits = append(e.waits, job)
		case "start":
			if job == e.first && e.now > e.due {
				t.Fatalf("job %d starts at %s and was to start at %s", job, e.now, e.due)
			}
			e.waits = slices.DeleteFunc(e.waits, func(i int) bool { return i == job })
			e.start[job] = e.now
			for _, on := range v[4:] {
				n, _ := strconv.Atoi(on[len("node-"):strings.Index(on, ":")])
				e.runs[job] = append(e.runs[job], n-1)
			}
		case "end":
			delete(e.runs, job)
		}
		if i == len(log)-1 || log[i+1][0] != v[0] {
			e.look(t)
		}
	}
}

// look finds fault with what waits.
func (e *easy) look(t *rapid.T) {
	if len(e.waits) == 0 {
		return
	}
	first, due := e.waits[0], e.now
	if len(e.places(first, e.free(e.now))) > 0 {
		t.Fatalf("job %d is the first that waits at %s, and fits", first, e.now)
	}
	for _, i := range slices.SortedFunc(maps.Keys(e.runs), func(a, b int) int { return int(e.ends(a) - e.ends(b)) }) {
		if due = e.ends(i); len(e.places(first, e.free(due))) > 0 {
			break
		}
	}
	if first == e.first && due > e.due {
		t.Fatalf("job %d, the first that waits, was to start at %s and at %s is to start at %s", first, e.due, e.now, due)
	}
	e.first, e.due = first, due
	for _, i := range e.waits[1:] {
		for _, on := range e.places(i, e.free(e.now)) {
			e.runs[i], e.start[i] = on, e.now
			if len(e.places(first, e.free(due))) > 0 {
				t.Fatalf("job %d waits at %s and could run on nodes %d: job %d would start at %s all the same", i, e.now, on, first, due)
			}
			delete(e.runs, i)
		}
	}
}

func (e *easy) ends(i int) time.Duration { return e.start[i] + e.trace[i].Duration }

// each is how many GPUs a job takes of each of its nodes, and how many those are.
func (e *easy) each(i int) (gpus, nodes int) {
	nodes = max(int(e.trace[i].Nodes), 1)
	return int(e.trace[i].GPUs) / nodes, nodes
}

// free is how many GPUs of each node are free at a time if nothing else starts.
func (e *easy) free(at time.Duration) []int {
	free := slices.Repeat([]int{e.size}, e.nodes)
	for i, on := range e.runs {
		gpus, _ := e.each(i)
		for _, n := range on {
			if e.ends(i) > at {
				free[n] -= gpus
			}
		}
	}
	return free
}

// places lists where a job fits, best first.
func (e *easy) places(i int, free []int) (out [][]int) {
	gpus, nodes := e.each(i)
	for n := range free {
		if free[n] >= gpus {
			out = append(out, []int{n})
		}
	}
	slices.SortStableFunc(out, func(a, b []int) int { return free[a[0]] - free[b[0]] })
	switch {
	case nodes == 1:
		return out
	case len(out) < nodes:
		return nil
	}
	return [][]int{slices.Concat(out[:nodes]...)}
}
