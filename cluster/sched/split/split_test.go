package split

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// cluster is n nodes of eight GPUs of one kind.
func nodes(n int) [][]int32 {
	out := make([][]int32, n)
	for i := range out {
		out[i] = []int32{8}
	}
	return out
}

func wants(gpus int32, value uint64) Job {
	return Job{GPUs: gpus, Kinds: 1, Value: value, Shape: gpus, Stay: Stay{Yields: true}, Spread: gpus > 8}
}

func runs(j Job, at ...Part) Job {
	j.Place, j.Shape = at, -1
	return j
}

func locked(j Job) Job {
	j.Locked, j.Yields = true, false
	return j
}

func stays(j Job, ends int64) Job {
	j.Yields, j.Ends = false, ends
	return j
}

func overruns(j Job, by int64) Job {
	j.Over = by
	return j
}

func over(j Job, nodes int32) Job {
	j.Nodes, j.Spread = nodes, false
	return j
}

// at is all GPUs of some nodes.
func at(from, to int32) (out []Part) {
	for n := from; n < to; n++ {
		out = append(out, Part{n, 8})
	}
	return out
}

// question is a problem and the layout that it should have.
type question struct {
	name string
	p    Problem
	want string
}

// The jobs that Choose lets run.
func TestWho(t *testing.T) {
	ask(t, []question{
		{"small jobs share a node", Problem{Room: nodes(2), Jobs: []Job{wants(4, 9), wants(3, 9), wants(8, 1)}}, "[0:4] [0:3] [1:8]"},
		{
			"small jobs make room for a gang that is worth more",
			Problem{Room: nodes(2), Today: 1, Jobs: []Job{wants(16, 100), runs(wants(8, 10), Part{0, 8}), runs(wants(2, 1), Part{1, 2})}},
			"[1:8 0:8] - -",
		},
		{
			"a gang waits where more is lost by starting it",
			Problem{Room: nodes(2), Today: 1, Jobs: []Job{wants(16, 5), runs(wants(8, 10), Part{0, 8}), runs(wants(7, 9), Part{1, 7}), wants(1, 1)}},
			"- [0:8] [1:7] [1:1]",
		},
		{
			"what may not be suspended stays",
			Problem{Room: nodes(2), Today: 2, Jobs: []Job{wants(16, 1000), locked(runs(wants(1, 1), Part{1, 1})), wants(8, 1)}},
			"- [1:1] [0:8]",
		},
		{
			"a running job stays in its place",
			Problem{Room: nodes(2), Jobs: []Job{runs(wants(2, 1), Part{1, 2}), wants(2, 1)}},
			"[1:2] [1:2]",
		},
		{
			"a job that never yields keeps off the node that a gang waits for",
			Problem{Room: nodes(2), Today: 2, Jobs: []Job{
				wants(16, 50), locked(stays(runs(wants(1, 1), Part{0, 1}), 100)), stays(wants(1, 5), 90), stays(wants(1, 5), 200),
			}},
			"- [0:1] [0:1] -",
		},
		{
			"a job that takes longer than expected lets no further one past the gang",
			Problem{Room: nodes(2), Today: 2, Jobs: []Job{
				wants(16, 50), locked(overruns(stays(runs(wants(1, 1), Part{0, 1}), 100), 80)), stays(wants(1, 5), 20), stays(wants(1, 5), 90),
			}},
			"- [0:1] [0:1] -",
		},
		{
			"a gang for which there are not enough nodes keeps none from the next",
			Problem{Room: nodes(2), Today: 2, Jobs: []Job{
				over(stays(wants(24, 60), 50), 3), over(stays(wants(16, 50), 50), 2), locked(stays(runs(wants(1, 1), Part{0, 1}), 100)),
				stays(wants(1, 5), 200),
			}},
			"- - [0:1] -",
		},
		{
			"a gang that is far larger than those before starts where all is free",
			Problem{Room: nodes(17), Jobs: []Job{over(stays(wants(12*8, 50), 100), 12)}},
			"[0:8 1:8 2:8 3:8 4:8 5:8 6:8 7:8 8:8 9:8 10:8 11:8]",
		},
		{
			"and beside one that runs, be it that gangs were thought to have no nodes",
			Problem{
				Room: nodes(17),
				Jobs: []Job{over(stays(wants(7*8, 50), 100), 7), locked(stays(over(runs(wants(5*8, 1), at(5, 10)...), 5), 100))},
			},
			"[0:8 1:8 2:8 3:8 4:8 10:8 11:8] [5:8 6:8 7:8 8:8 9:8]",
		},
	})
}

// Where Choose lets them run.
func TestWhere(t *testing.T) {
	ask(t, []question{
		{
			"kinds of GPUs",
			Problem{
				Room: [][]int32{{4, 4}, {0, 8}},
				Jobs: []Job{{GPUs: 2, Kinds: 2, Shape: -1}, {GPUs: 4, Kinds: 1, Shape: -1}, {GPUs: 9, Kinds: 2, Spread: true, Shape: -1}},
			},
			"[0:2] [0:4] [1:8 0:1]",
		},
		{
			"a bound that two share",
			Problem{Room: nodes(1), Bounds: []int64{4}, Jobs: []Job{
				{GPUs: 3, Kinds: 1, Uses: []Use{{Amount: 3}}, Shape: -1},
				{GPUs: 2, Kinds: 1, Uses: []Use{{Amount: 2}}, Shape: -1},
				{GPUs: 1, Kinds: 1, Uses: []Use{{Amount: 1}}, Shape: -1},
			}},
			"[0:3] - [0:1]",
		},
		{
			"a bound that goes on into another",
			Problem{Room: nodes(1), Bounds: []int64{2, 2}, Jobs: []Job{
				{GPUs: 1, Kinds: 1, Uses: []Use{{Bound: 1, Amount: 1, Spill: 0}}, Shape: -1},
				{GPUs: 3, Kinds: 1, Uses: []Use{{Bound: 0, Amount: 3, Spill: 2}}, Shape: -1},
				{GPUs: 1, Kinds: 1, Uses: []Use{{Bound: 0, Amount: 1, Spill: 2}}, Shape: -1},
				{GPUs: 1, Kinds: 1, Uses: []Use{{Bound: 1, Amount: 1, Spill: 0}}, Shape: -1},
			}},
			"[0:1] [0:3] - -",
		},
		{
			"a gang where it suspends least",
			Problem{Room: nodes(3), Today: 1, Jobs: []Job{
				wants(8, 100), runs(wants(3, 1), Part{0, 3}), runs(wants(2, 1), Part{1, 2}), locked(runs(wants(1, 1), Part{2, 1})),
			}},
			"[1:8] [0:3] [0:2] [2:1]",
		},
		{
			"a gang where it suspends least, whatever its own order of nodes",
			Problem{Room: [][]int32{{8, 2}, {8, 0}}, Today: 1, Jobs: []Job{
				{GPUs: 8, Kinds: 1, Value: 100, Shape: -1, Manner: Manner{Order: Roomy}}, runs(wants(3, 1), Part{0, 3}), runs(wants(2, 1), Part{1, 2}),
			}},
			"[1:8] [0:3] [0:2]",
		},
		{
			"a gang by its own order of nodes where it suspends no job",
			Problem{Room: [][]int32{{8, 0}, {8, 2}}, Jobs: []Job{{GPUs: 8, Kinds: 1, Shape: -1, Manner: Manner{Order: Roomy}}}},
			"[1:8]",
		},
		{
			"and else the first",
			Problem{Room: [][]int32{{8, 0}, {8, 2}}, Jobs: []Job{{GPUs: 8, Kinds: 1, Shape: -1}}},
			"[0:8]",
		},
		{
			"what comes last, though it is a gang and worth more",
			Problem{Room: nodes(1), Today: 1, Last: 3, Jobs: []Job{wants(1, 1), wants(2, 1), wants(8, 1000), wants(5, 1), wants(1, 1)}},
			"[0:1] [0:2] - [0:5] -",
		},
	})
}

// Where Choose lets those run that may not be everywhere.
func TestWhereNotAll(t *testing.T) {
	ask(t, []question{
		{
			"GPUs that a job keeps off",
			Problem{Room: nodes(2), Jobs: []Job{
				{GPUs: 8, Kinds: 1, Manner: Manner{Shuns: []Part{{0, 1}}}, Shape: -1},
				{GPUs: 7, Kinds: 1, Manner: Manner{Shuns: []Part{{0, 1}}}, Shape: -1},
			}},
			"[1:8] [0:7]",
		},
		{
			"so many nodes as it asks for",
			Problem{Room: nodes(3), Jobs: []Job{{GPUs: 4, Nodes: 2, Kinds: 1, Shape: -1}}},
			"[0:2 1:2]",
		},
		{
			"who stands at the front comes before any gang",
			Problem{Room: nodes(1), Front: 1, Today: 1, Jobs: []Job{wants(1, 1), wants(8, 1000)}},
			"[0:1] -",
		},
		{
			"strictly in order, whatever it wastes",
			Problem{Room: nodes(1), Rules: Rules{Ordered: true}, Jobs: []Job{wants(5, 1), wants(4, 100), wants(3, 1)}},
			"[0:5] - [0:3]",
		},
		{
			"on some nodes only, and where it runs already",
			Problem{Room: nodes(3), Sites: [][]bool{{false, true, true}, {true, false, false}}, Jobs: []Job{
				{GPUs: 8, Kinds: 1, Manner: Manner{Site: 1}, Shape: -1},
				runs(Job{GPUs: 2, Kinds: 1, Manner: Manner{Site: 1}}, Part{0, 2}),
				{GPUs: 7, Kinds: 1, Manner: Manner{Site: 2}, Shape: -1},
				{GPUs: 12, Kinds: 1, Manner: Manner{Site: 1}, Spread: true, Shape: -1},
				{GPUs: 6, Kinds: 1, Manner: Manner{Site: 2}, Shape: -1},
			}},
			"[1:8] [0:2] - - [0:6]",
		},
		{"no nodes", Problem{Jobs: []Job{wants(1, 1), {GPUs: 4, Kinds: 1, Spread: true, Shape: -1}}}, "- -"},
	})
}

// Today's layout may leave a part of the cluster idle before another is better that leaves nothing idle; any other
// may not, whatever it is worth.
func TestWhatTodaysLayoutMayWaste(t *testing.T) {
	v := judge{today: 2, all: 1000}
	other := Layout{Gangs: 3, Idle: 0, Value: 10}
	for _, c := range []struct {
		gangs  int
		idle   int64
		value  uint64
		better bool
	}{
		{2, 70, 11, true}, {2, 70, 9, false}, {2, 71, 11, false}, {1, 1, 11, false}, {1, 0, 11, true},
	} {
		l := Layout{Gangs: c.gangs, Idle: c.idle, Value: c.value}
		if v.better(&l, &other) != c.better {
			t.Errorf("%d nodes of gangs, %d of 1000 GPUs idle, worth %d: better is %v", c.gangs, c.idle, c.value, !c.better)
		}
	}
	if some, more := (Layout{Gangs: 1, Idle: 1, Value: 1}),
		(Layout{Gangs: 2, Idle: 71, Value: 9}); !v.better(&some, &more) || v.better(&more, &some) {
		t.Error("what wastes less is not better, where both waste too much")
	}
}

func ask(t *testing.T, questions []question) {
	t.Helper()
	for _, c := range questions {
		if l := Choose(&c.p); text(&l) != c.want {
			t.Errorf("%s: %s, want %s", c.name, text(&l), c.want)
		}
	}
}

func text(l *Layout) (out string) {
	for i, at := range l.Places {
		if i > 0 {
			out += " "
		}
		if at == nil {
			out += "-"
			continue
		}
		var parts []string
		for _, v := range at {
			parts = append(parts, fmt.Sprintf("%d:%d", v.Node, v.GPUs))
		}
		out += fmt.Sprint(parts)
	}
	return out
}

// Whatever the problem, a layout is one that can be carried out: nodes hold what
// they are given, jobs are whole and where they may be, bounds are kept, what is
// locked stays, and the same problem has the same answer.
func TestEveryLayoutCanBeCarriedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		l := Choose(p)
		if again := Choose(p); text(&again) != text(&l) {
			t.Fatalf("%s, and then %s", text(&l), text(&again))
		}
		used, bounds := make([]int32, len(p.Room)), slices.Clone(p.Bounds)
		for i, at := range l.Places {
			j := &p.Jobs[i]
			if j.Locked && !slices.Equal(at, j.Place) {
				t.Fatalf("job %d is locked at %v and laid out at %v", i, j.Place, at)
			}
			if at == nil {
				continue
			}
			var gpus int32
			for _, v := range at {
				used[v.Node] += v.GPUs
				gpus += v.GPUs
			}
			if gpus != j.GPUs || j.Nodes > 0 && int(j.Nodes) != len(at) {
				t.Fatalf("job %d wants %d GPUs on %d nodes, laid out at %v", i, j.GPUs, j.Nodes, at)
			}
			for _, u := range j.Uses {
				bounds[u.Bound] -= u.Amount
			}
		}
		for n, sum := range used {
			if sum > p.Room[n][0] {
				t.Fatalf("node %d has %d GPUs and was given %d: %s", n, p.Room[n][0], sum, text(&l))
			}
		}
		for i, left := range bounds {
			if left < 0 {
				t.Fatalf("bound %d is exceeded by %d", i, -left)
			}
		}
		idle(t, p, &l, used, bounds)
	})
}

// idle: no job of one node that may yield waits while a node has room for it.
func idle(t *rapid.T, p *Problem, l *Layout, used []int32, bounds []int64) {
	for i, at := range l.Places {
		j := &p.Jobs[i]
		if at != nil || j.Nodes > 1 || !j.Yields || slices.ContainsFunc(j.Uses, func(u Use) bool { return bounds[u.Bound] < u.Amount }) {
			continue
		}
		for n := range p.Room {
			if p.Room[n][0]-used[n] >= j.GPUs {
				t.Fatalf("job %d of %d GPUs waits and node %d has room: %s", i, j.GPUs, n, text(l))
			}
		}
	}
}

func drawProblem(t *rapid.T) *Problem {
	p := &Problem{
		Room: nodes(rapid.IntRange(1, 5).Draw(t, "nodes")), Bounds: []int64{int64(rapid.IntRange(0, 30).Draw(t, "bound"))},
		Today: rapid.IntRange(0, 5).Draw(t, "today"), Rules: Rules{Ordered: rapid.Bool().Draw(t, "ordered")},
	}
	free := make([]int32, len(p.Room))
	for i := range free {
		free[i] = 8
	}
	for range rapid.IntRange(0, 12).Draw(t, "jobs") {
		j := wants(int32(rapid.SampledFrom([]int{1, 1, 2, 4, 8}).Draw(t, "gpus")), uint64(rapid.IntRange(0, 100).Draw(t, "value")))
		if rapid.IntRange(0, 3).Draw(t, "spread") == 0 {
			j.Nodes, j.GPUs, j.Shape = 2, j.GPUs*2, -1
		}
		n := rapid.IntRange(0, len(free)-1).Draw(t, "on")
		switch use := rapid.Bool().Draw(t, "bounded"); {
		case j.Nodes == 0 && free[n] >= j.GPUs && rapid.Bool().Draw(t, "runs"):
			free[n] -= j.GPUs
			j = runs(j, Part{int32(n), j.GPUs})
			if rapid.Bool().Draw(t, "locked") {
				j = locked(j)
			}
		case use:
			j.Uses, j.Shape = []Use{{Amount: int64(j.GPUs), Scales: true}}, -1
		}
		p.Jobs = append(p.Jobs, j)
	}
	p.Front = rapid.IntRange(0, len(p.Jobs)).Draw(t, "front")
	return p
}
