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
	rapid.Check(t, func(t *rapid.T) {
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

// drawParts draws a problem, the same without some, and which of its jobs each of those is.
func drawParts(t *rapid.T) (whole, part *Problem, kept []int) {
	whole = drawProblem(t)
	whole.Skips, whole.Steady = rapid.Bool().Draw(t, "skips"), rapid.IntRange(0, 3).Draw(t, "steady") == 0
	firm(t, whole)
	whole.Front = rapid.IntRange(0, min(2, len(whole.Jobs))).Draw(t, "at the front")
	from, demand, all := len(whole.Jobs), int32(0), 8*int32(len(whole.Room))
	for _, j := range whole.Jobs {
		demand += j.GPUs
	}
	type line struct {
		like Job
		seen int // how many are not left out
		last int // of those
	}
	lines := make([]line, rapid.IntRange(1, 5).Draw(t, "lines"))
	for i := range lines {
		lines[i] = line{like: drawLike(t, whole), seen: rapid.IntRange(1, 4).Draw(t, "seen")}
	}
	left := map[int]bool{}
	for i := range rapid.IntRange(0, 30).Draw(t, "in line") {
		if rapid.IntRange(0, 5).Draw(t, "a gang") == 0 {
			gang := drawLike(t, whole)
			gang.GPUs, gang.Shape = 8, -1
			whole.Jobs = append(whole.Jobs, gang)
			continue
		}
		l := &lines[rapid.IntRange(0, len(lines)-1).Draw(t, "line")]
		if l.seen > 0 || demand < all {
			l.seen, l.last = l.seen-1, from+i
			demand += l.like.GPUs
		} else {
			left[from+i] = true
		}
		whole.Jobs = append(whole.Jobs, l.like)
	}
	if last := rapid.IntRange(0, 2).Draw(t, "last"); rapid.Bool().Draw(t, "late") {
		for range last {
			whole.Jobs = append(whole.Jobs, drawLike(t, whole))
		}
		whole.Last = last
	}
	few := *whole
	few.Jobs = nil
	for i, j := range whole.Jobs {
		if left[i] {
			continue
		}
		for _, l := range lines {
			if l.last == i && l.seen <= 0 {
				few.Rest = append(few.Rest, Rest{len(few.Jobs), l.like})
			}
		}
		kept, few.Jobs = append(kept, i), append(few.Jobs, j)
	}
	return whole, &few, kept
}

// firm has some who wait never yield, or all of a steady problem.
func firm(t *rapid.T, p *Problem) {
	for i := range p.Jobs {
		if j := &p.Jobs[i]; p.Steady || j.Place == nil && rapid.Bool().Draw(t, "firm") {
			*j = stays(*j, int64(rapid.IntRange(1, 9).Draw(t, "ends")))
			j.Locked = j.Place != nil
		}
	}
}

// drawLike draws what the jobs of a line are like: less than a node.
func drawLike(t *rapid.T, p *Problem) Job {
	j := wants(int32(rapid.IntRange(1, 7).Draw(t, "each")), uint64(rapid.IntRange(0, 100).Draw(t, "worth")))
	if p.Steady || rapid.Bool().Draw(t, "stays") {
		j = stays(j, int64(rapid.IntRange(1, 9).Draw(t, "until")))
	}
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		j.Uses = []Use{{Amount: int64(j.GPUs)}}
	}
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
