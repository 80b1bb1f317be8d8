package split

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A problem that leaves small jobs out has the layout that it would have with them, or says that
// it might not.
func TestLeavingOutChangesNothing(t *testing.T) {
	short, cut := 0, 0
	checkUntil(t, func() bool { return short > 0 && cut > 0 }, func(t *rapid.T) {
		whole, part, kept := drawParts(t)
		got, want := Choose(part), Choose(whole)
		if got.Short {
			short++
			return
		}
		if len(kept) < len(whole.Jobs) {
			cut++
		}
		if got.Gangs != want.Gangs || !slices.Equal(got.Until, want.Until) || got.Until != nil && kept[got.For] != want.For {
			t.Fatalf("gangs have %d nodes, bars %v; with all %d, %v", got.Gangs, got.Bars, want.Gangs, want.Bars)
		}
		places := make([][]Part, len(whole.Jobs))
		for i, at := range got.Places {
			places[kept[i]] = at
		}
		if all := (Layout{Places: places}); text(&all) != text(&want) {
			t.Fatalf("%s, with all %s", text(&all), text(&want))
		}
	})
	if short == 0 || cut == 0 {
		t.Errorf("%d problems were cut short, %d were short of somebody", cut, short)
	}
}

// checkUntil checks a property until what it is about was met: with -short few problems are drawn
// at a time, and once in some hundred times none of these had it.
func checkUntil(t *testing.T, met func() bool, property func(t *rapid.T)) {
	t.Helper()
	for range 20 {
		if rapid.Check(t, property); met() || t.Failed() {
			return
		}
	}
}

// drawn is a problem in the making some of whose jobs will be left out.
type drawn struct {
	*Problem

	lines  []drawnLine
	left   map[int]bool // jobs that will be
	demand int32        // GPUs of those that will not
}

type drawnLine struct {
	like Job
	seen int // how many are not left out yet
	last int // of those
}

// drawParts draws a problem, the same without some, and which of its jobs each of those is.
func drawParts(t *rapid.T) (whole, part *Problem, kept []int) {
	d := &drawn{Problem: drawMixed(t), left: map[int]bool{}}
	for _, j := range d.Jobs {
		d.demand += j.GPUs
	}
	for range rapid.IntRange(1, 5).Draw(t, "lines") {
		d.lines = append(d.lines, drawnLine{like: drawLike(t, d.Problem), seen: rapid.IntRange(1, 4).Draw(t, "seen")})
	}
	for range rapid.IntRange(0, 30).Draw(t, "in line") {
		d.add(t)
	}
	if last := rapid.IntRange(0, 2).Draw(t, "last"); rapid.Bool().Draw(t, "late") {
		for range last {
			d.Jobs = append(d.Jobs, drawLike(t, d.Problem))
		}
		d.Last = last
	}
	few := *d.Problem
	few.Jobs = nil
	for i, j := range d.Jobs {
		if d.left[i] {
			continue
		}
		for _, l := range d.lines {
			if l.last == i && l.seen <= 0 {
				few.Rest = append(few.Rest, Rest{len(few.Jobs), l.like})
			}
		}
		kept, few.Jobs = append(kept, i), append(few.Jobs, j)
	}
	return d.Problem, &few, kept
}

// add adds a gang, a job that takes fewer, or the next of a line, which is left out if enough are
// not.
func (d *drawn) add(t *rapid.T) {
	l := &d.lines[rapid.IntRange(0, len(d.lines)-1).Draw(t, "line")]
	what := rapid.IntRange(0, 11).Draw(t, "what")
	switch at := len(d.Jobs); {
	case what < 2:
		d.Jobs = append(d.Jobs, drawGang(t, d.Problem))
		return
	case what < 3:
		elastic := drawLike(t, d.Problem)
		elastic.Least, elastic.Shape, elastic.Nodes = 1, -1, 0
		d.Jobs = append(d.Jobs, elastic)
		return
	case l.seen > 0 || d.demand < 8*int32(len(d.Room)):
		l.seen, l.last = l.seen-1, at
		d.demand += l.like.GPUs
	default:
		d.left[at] = true
	}
	d.Jobs = append(d.Jobs, l.like)
}

// drawMixed draws a problem of two kinds of GPU and two sites, most often with work that a bound
// keeps from running, so that others are left out while there is room.
func drawMixed(t *rapid.T) *Problem {
	p := drawProblem(t)
	p.Sites = [][]bool{make([]bool, len(p.Room))}
	for i := range p.Room {
		a := int32(rapid.SampledFrom([]int{0, 4, 8, 8}).Draw(t, "of the first kind"))
		p.Room[i] = []int32{a, 8 - a}
		p.Sites[0][i] = rapid.Bool().Draw(t, "site")
	}
	p.Skips, p.Steady = rapid.Bool().Draw(t, "skips"), rapid.IntRange(0, 3).Draw(t, "steady") == 0
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if p.Steady || j.Place == nil && rapid.Bool().Draw(t, "firm") {
			*j = stays(*j, int64(rapid.IntRange(1, 9).Draw(t, "ends")))
			j.Locked = j.Place != nil
		}
		if j.Place != nil {
			j.Kinds = 3
		}
	}
	p.Front = rapid.IntRange(0, min(2, len(p.Jobs))).Draw(t, "at the front")
	p.Bounds = append(p.Bounds, int64(rapid.IntRange(0, 20).Draw(t, "open bound")), 0)
	if rapid.IntRange(0, 3).Draw(t, "bounded") > 0 {
		for range 2 * len(p.Room) {
			p.Jobs = append(p.Jobs, Job{GPUs: 5, Kinds: 3, Shape: -1, Stay: Stay{Ends: 1}, Uses: []Use{{Bound: 2, Amount: 1}}})
		}
	}
	return p
}

// drawGang draws a job of a node or more.
func drawGang(t *rapid.T, p *Problem) Job {
	gang := drawLike(t, p)
	gang.Manner = Manner{Order: gang.Order, Drains: rapid.Bool().Draw(t, "drains")}
	gang.GPUs, gang.Shape, gang.Kinds, gang.Nodes = 8, -1, 3, 0
	switch rapid.IntRange(0, 3).Draw(t, "kind of gang") {
	case 0:
		gang.Least = int32(rapid.IntRange(1, 8).Draw(t, "least"))
	case 1:
		gang.GPUs, gang.Nodes = 16, 2
	case 2:
		gang.GPUs, gang.Spread = 12, true
	}
	return gang
}

// drawLike draws what the jobs of a line are like: less than a node.
func drawLike(t *rapid.T, p *Problem) Job {
	j := wants(int32(rapid.SampledFrom([]int{1, 2, 4, 4, 4, 5}).Draw(t, "each")), uint64(rapid.IntRange(0, 100).Draw(t, "worth")))
	if p.Steady || rapid.Bool().Draw(t, "stays") {
		j = stays(j, int64(rapid.IntRange(1, 9).Draw(t, "until")))
	}
	switch rapid.IntRange(0, 5).Draw(t, "limited") {
	case 0:
		j.Uses = []Use{{Amount: int64(j.GPUs)}}
	case 1:
		j.Uses = []Use{{Amount: int64(j.GPUs), Spill: 2}}
	}
	j.Kinds = uint64(rapid.SampledFrom([]int{1, 3, 3, 3, 3}).Draw(t, "kinds"))
	j.Site = int32(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "at"))
	j.Order = Order(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "order"))
	if rapid.IntRange(0, 9).Draw(t, "on two") == 0 {
		j.GPUs, j.Nodes = max(j.GPUs/2*2, 2), 2
	}
	if w := (&Widths{Room: p.Room, Sites: p.Sites}); w.IsGang(&j) {
		j.Kinds, j.Site, j.Nodes = 3, 0, 0
	}
	j.Shape = (((j.GPUs*4+int32(j.Kinds))*2+j.Site)*3+j.Nodes)*3 + int32(j.Order)
	return j
}

// Who comes before the gang that nodes are kept for may start there, so that it says nothing of
// them if somebody like them who comes after it may not.
func TestLeftOutAheadOfTheGang(t *testing.T) {
	half := stays(wants(4, 1), 200)
	p := Problem{Room: nodes(2), Rules: Rules{Steady: true}, Jobs: []Job{
		locked(runs(stays(wants(4, 1), 100), Part{0, 4})), locked(runs(stays(wants(4, 1), 100), Part{1, 4})),
		half, half, stays(wants(8, 1), 50), half,
	}}
	if l := Choose(&p); text(&l) != "[0:4] [1:4] [1:4] [0:4] - -" {
		t.Fatal(text(&l))
	}
	p.Jobs = slices.Delete(p.Jobs, 3, 4)
	p.Rest = []Rest{{After: 2, Job: half}}
	if l := Choose(&p); !l.Short {
		t.Error(text(&l))
	}
}

// In order, nodes are kept for a gang only once its turn has come: who was left out before it
// might have had them, whatever happens to those after it.
func TestLeftOutBeforeTheBars(t *testing.T) {
	half := stays(wants(4, 1), 200)
	p := Problem{Room: nodes(2), Rules: Rules{Ordered: true}, Jobs: []Job{
		half, half, stays(wants(8, 1), 50), half,
		locked(runs(stays(wants(4, 1), 100), Part{0, 4})), locked(runs(stays(wants(4, 1), 100), Part{1, 4})),
	}}
	if l := Choose(&p); text(&l) != "[0:4] [1:4] - - [0:4] [1:4]" {
		t.Fatal(text(&l))
	}
	p.Jobs = slices.Delete(p.Jobs, 1, 2)
	p.Rest = []Rest{{After: 0, Job: half}}
	if l := Choose(&p); !l.Short {
		t.Error(text(&l))
	}
}

// Jobs that are left out may be like no other job.
func TestLeftOutUnlikeAnyOther(t *testing.T) {
	odd := wants(1, 1)
	odd.Shape = 7
	p := Problem{Room: nodes(1), Jobs: []Job{wants(4, 1)}, Rest: []Rest{{After: 0, Job: odd}}}
	if l := Choose(&p); !l.Short {
		t.Error(text(&l))
	}
	p.Jobs[0] = wants(7, 1)
	odd.GPUs = 2
	p.Rest[0].Job = odd
	if l := Choose(&p); l.Short {
		t.Error("there is no room for those who were left out")
	}
}
