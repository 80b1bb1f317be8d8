package srun

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
)

func exactly(s Size) Size {
	s.Exact = true
	return s
}

// TestPlace checks where tasks run. A node of the result is NAME:RANKS, and its GPUs after a slash.
func TestPlace(t *testing.T) {
	t.Parallel()
	two := []Room{{"a", 2, 4, 2}, {"b", 2, 4, 2}}
	half := []Use{{Steps: 1, Cores: 2, GPUs: []int{0}}, {}}
	whole := []Use{{Steps: 1, Whole: true, Cores: 2}, {}}
	n := func(least, most int) form.NodeCount { return form.NodeCount{Min: least, Max: most} }
	for name, c := range map[string]struct {
		rooms []Room
		uses  []Use
		size  Size
		want  string
	}{
		"the job's":                {two, nil, Size{}, "a:[0 1] b:[2 3]"},
		"by the variable":          {two, nil, Size{FromJob: 3}, "a:[0 1] b:[2]"},
		"block":                    {two, nil, exactly(Size{Tasks: 6}), "a:[0 1 2 3] b:[4 5]"},
		"cyclic":                   {two, nil, exactly(Size{Tasks: 5, Kind: environ.Cyclic}), "a:[0 2 4] b:[1 3]"},
		"plane":                    {two, nil, exactly(Size{Tasks: 7, Kind: environ.Plane, Plane: 2}), "a:[0 1 4 5] b:[2 3 6]"},
		"cores of tasks":           {two, nil, exactly(Size{Tasks: 3, CPUsPerTask: 2}), "a:[0 1] b:[2]"},
		"more than cores":          {two, nil, exactly(Size{Tasks: 11}), "a:[0 1 2 3 4 5] b:[6 7 8 9 10]"},
		"one on two nodes":         {two, nil, exactly(Size{Tasks: 1}), "a:[0] Warning: can't run 1 processes on 2 nodes, setting nnodes to 1"},
		"one node":                 {two, nil, Size{Nodes: n(1, 1)}, "a:[0 1]"},
		"too many nodes":           {two, nil, Size{Nodes: n(3, 3)}, "Only allocated 2 nodes asked for 3"},
		"range of nodes":           {two, nil, Size{Nodes: n(1, 4)}, "a:[0 1] b:[2 3]"},
		"by name":                  {two, nil, Size{NodeList: []string{"b"}}, "b:[0 1]"},
		"unknown name":             {two, nil, Size{NodeList: []string{"c"}}, "node c does not belong to the job"},
		"without":                  {two, nil, Size{Exclude: []string{"a"}}, "b:[0 1]"},
		"without all":              {two, nil, Size{Exclude: []string{"a", "b"}}, "no node of the job is left"},
		"from the second on":       {two, nil, Size{Relative: 1}, "b:[0 1]"},
		"tasks per node":           {two, nil, exactly(Size{TasksPerNode: 3}), "a:[0 1 2] b:[3 4 5]"},
		"too many per node":        {two, nil, exactly(Size{Tasks: 6, TasksPerNode: 2}), "a:[0 1 2 3] b:[4 5] Warning: can't honor --ntasks-per-node"},
		"GPUs of tasks":            {two, nil, exactly(Size{Tasks: 3, GPUsPerTask: 1, HoldsGPUs: true}), "a:[0 1]/[0 1] b:[2]/[0]"},
		"too many GPUs":            {two, nil, exactly(Size{Tasks: 1, GPUsPerTask: 3, HoldsGPUs: true}), "asks for 3 there"},
		"GPUs of tasks, all":       {two, nil, Size{GPUsPerTask: 1}, "a:[0 1] b:[2 3]"},
		"GPUs in all":              {two, nil, exactly(Size{GPUs: 3, HoldsGPUs: true}), "a:[0 1]/[0 1] b:[2 3]/[0]"},
		"no GPUs":                  {two, nil, Size{NoGPUs: true}, "a:[0 1]/[] b:[2 3]/[]"},
		"free GPU":                 {two, half, exactly(Size{Tasks: 1, GPUsPerNode: 1, HoldsGPUs: true, Nodes: n(1, 1)}), "a:[0]/[1]"},
		"GPUs held":                {two[:1], half[:1], exactly(Size{Tasks: 1, GPUsPerNode: 2, HoldsGPUs: true}), "busy"},
		"cores next to others":     {two, half, exactly(Size{Tasks: 4, Nodes: n(1, 1)}), "b:[0 1 2 3]"},
		"whole next to a part":     {two, half, Size{Nodes: n(1, 1)}, "b:[0 1]"},
		"whole, all":               {two, half, Size{}, "busy"},
		"part of a whole":          {two[:1], whole[:1], exactly(Size{Tasks: 1}), "busy"},
		"overlap":                  {two[:1], whole[:1], Size{Tasks: 2, Overlap: true, GPUs: 1}, "a:[0 1]/[0]"},
		"more cores, others there": {two[:1], half[:1], exactly(Size{Tasks: 3}), "busy"},
		"one task of many cores":   {two[:1], nil, exactly(Size{Tasks: 1, CPUsPerTask: 9}), "a:[0]"},
		"unknown cores":            {[]Room{{"a", 1, 0, 0}}, nil, exactly(Size{Tasks: 9}), "a:[0 1 2 3 4 5 6 7 8]"},
	} {
		uses := c.uses
		if uses == nil {
			uses = make([]Use, len(c.rooms))
		}
		if got := show(Place(c.rooms, uses, c.size)); !strings.Contains(got, c.want) ||
			c.want != "busy" && strings.HasPrefix(c.want, "a:") && !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s; it should be %s", name, got, c.want)
		}
	}
}

func show(l Layout, err error) string {
	if errors.Is(err, ErrBusy) {
		return "busy"
	}
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, s := range l.Shares {
		part := fmt.Sprintf("%c:%v", 'a'+rune(s.Node), s.Ranks)
		if s.GPUs != nil {
			part += fmt.Sprintf("/%v", s.GPUs)
		}
		parts = append(parts, part)
	}
	return strings.Join(append(parts, l.Notes...), " ")
}

// TestStepsShareNodes checks, on random sequences, that steps that do not overlap hold no core and no GPU twice, that all is free at the
// end, and that a step that waits fits once all others have ended.
func TestStepsShareNodes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		rooms := make([]Room, 1+r.IntN(3))
		for i := range rooms {
			rooms[i] = Room{string(rune('a' + i)), 1 + r.IntN(3), 1 + r.IntN(8), r.IntN(5)}
		}
		uses := make([]Use, len(rooms))
		var running []Layout
		end := func(i int) {
			for _, s := range running[i].Shares {
				uses[s.Node].Take(s.Hold, false)
			}
			running = slices.Delete(running, i, i+1)
		}
		for range 30 {
			if len(running) > 0 && r.IntN(3) == 0 {
				end(r.IntN(len(running)))
			}
			size := randomSize(r)
			l, err := Place(rooms, uses, size)
			if errors.Is(err, ErrBusy) {
				if _, err := Place(rooms, make([]Use, len(rooms)), size); err != nil {
					t.Fatalf("seed %d: %+v waits, and would not run on free nodes: %v", seed, size, err)
				}
			}
			if err != nil {
				continue
			}
			running = append(running, l)
			for _, s := range l.Shares {
				uses[s.Node].Take(s.Hold, true)
			}
			checkUses(t, seed, rooms, uses, l, size)
		}
		for len(running) > 0 {
			end(0)
		}
		for i, use := range uses {
			if use.Steps != 0 || use.Whole || use.Cores != 0 || len(use.GPUs) > 0 {
				t.Fatalf("seed %d: node %d is left with %+v", seed, i, use)
			}
		}
	}
}

func randomSize(r *rand.Rand) Size {
	size := Size{Exact: r.IntN(2) == 0, Overlap: r.IntN(8) == 0, Kind: environ.Kind(r.IntN(3)), Plane: 1 + r.IntN(3)}
	if r.IntN(2) == 0 {
		size.Tasks = 1 + r.IntN(8)
	}
	size.CPUsPerTask, size.GPUsPerTask, size.GPUs = r.IntN(3), max(r.IntN(4)-2, 0), max(r.IntN(5)-2, 0)
	size.HoldsGPUs = size.GPUsPerTask+size.GPUs > 0
	size.Exact = (size.Exact || size.HoldsGPUs) && !size.Overlap
	return size
}

func checkUses(t *testing.T, seed uint64, rooms []Room, uses []Use, l Layout, size Size) {
	t.Helper()
	var ranks []int
	for _, s := range l.Shares {
		ranks = append(ranks, s.Ranks...)
	}
	slices.Sort(ranks)
	for i, rank := range ranks {
		if i != rank || size.Tasks > 0 && len(ranks) != size.Tasks {
			t.Fatalf("seed %d: %+v has the ranks %v", seed, size, ranks)
		}
	}
	for i, use := range uses {
		gpus := slices.Sorted(slices.Values(use.GPUs))
		if use.Cores > rooms[i].Cores || len(slices.Compact(gpus)) != len(use.GPUs) || use.Whole && use.Steps > 1 {
			t.Fatalf("seed %d: %+v makes the use of node %d %+v of %+v", seed, size, i, use, rooms[i])
		}
	}
}
