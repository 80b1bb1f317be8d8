package simulate

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
)

// However a stream of small jobs is mixed, with any estimates of run times and any preemptible jobs,
// a gang starts: at three times its wait bound no other job starts any more on what is kept for it, so that it waits for what
// runs then, and for the gangs before it. The stream goes on for much longer.
func TestNoGangStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		none := func(*rapid.T, []Job) {}
		checkGangs(t, time.Hour, none) // for suspensions, and their restarts
	})
}

// Nor does one if they are of different classes: those with a right to stop others pass it only where they
// stop a job that was there before them.
func TestNoGangStarvesAmongClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkGangs(t, 4*time.Hour, classify) // for jobs that take the GPUs of others, and for gangs that are stopped for them
	})
}

// classify draws the classes of jobs.
func classify(t *rapid.T, jobs []Job) {
	of := rapid.SampledFrom([]string{"4", "34", "14", "1234"}).Draw(t, "classes")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "the classes' seed"), 0))
	for i := range jobs {
		jobs[i].Told.Class = model.Class(of[random.IntN(len(of))] - '0')
	}
}

// checkGangs checks that gangs start in time for which spare time is enough.
func checkGangs(t *rapid.T, spare time.Duration, change func(*rapid.T, []Job)) {
	const bound, longest, gangs = time.Hour, time.Hour, 2
	most := 3*bound + gangs*2*longest + spare
	var log bytes.Buffer
	o := starving(t)
	o.Log = &log
	jobs := stream(t, &o, 3*most/2, longest, gangs)
	change(t, jobs)
	if _, err := Play(t.Context(), jobs, o); err != nil {
		t.Fatal(err)
	}
	since := map[string]float64{}
	for _, v := range readLog(t, &log) {
		at, _ := strconv.ParseFloat(v[0], 64)
		switch asked, waits := since[v[2]]; {
		case v[1] == "submit" && strings.HasPrefix(v[2], "gang"):
			since[v[2]] = at
		case v[1] == "start" && waits:
			if wait := time.Duration(at-asked) * time.Second; wait > most {
				t.Errorf("gang %s waits for %s, for longer than %s", v[2], wait, most)
			}
			delete(since, v[2])
		}
	}
	if len(since) > 0 {
		t.Errorf("gangs %v never start", since)
	}
}

// starving draws a cluster and which jobs may pass others on it.
func starving(t *rapid.T) Options {
	o := options(rapid.SampledFrom(model.Policies()).Draw(t, "policy"))
	o.Nodes, o.GPUs, o.WholeNodes = rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(2, 3).Draw(t, "GPUs of a node"), true
	o.Preemptible = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "preemptible")
	o.Estimates = rapid.SampledFrom([]Estimates{
		{},
		{History: true},
		{Low: 1, High: 1},
		{Low: 1, High: 100},
		{Low: 0.01, High: 0.1},
		{Low: 0.01, High: 100},
	}).Draw(t, "estimates")
	o.Tuning.WaitBound, o.Tuning.Aging = time.Hour, time.Hour
	o.Tuning.Depth = uint32(rapid.IntRange(1, 20).Draw(t, "depth"))
	return o
}

// stream draws jobs of less than a node that come for so long and keep half to nine tenths of the GPUs
// busy, and some gangs among the first of them.
func stream(t *rapid.T, o *Options, lasts, longest time.Duration, gangs int) (out []Job) {
	part := rapid.IntRange(50, 90).Draw(t, "load in percent")
	most := rapid.SampledFrom([]time.Duration{longest / 3, longest}).Draw(t, "longest run time of a small job")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "the small jobs' seed"), 0))
	whole := o.Nodes * o.GPUs
	for i := range gangs {
		at := time.Duration(rapid.Int64Range(0, int64(lasts/8)).Draw(t, "when a gang comes"))
		out = append(out, Job{
			ID: fmt.Sprint("gang", i), User: "gil", Submit: at.Truncate(time.Second),
			GPUs:     sizeOf(t, o),
			Duration: time.Duration(rapid.Int64Range(60, int64(longest/time.Second)).Draw(t, "run time of a gang")) * time.Second,
		})
	}
	for at := time.Duration(0); at < lasts; {
		j := Job{
			ID: strconv.Itoa(len(out)), User: fmt.Sprint("u", len(out)%3), Submit: at.Truncate(time.Second), GPUs: uint32(1 + random.IntN(o.GPUs-1)),
			Duration: time.Minute + time.Duration(random.Int64N(int64((most-time.Minute)/time.Second)))*time.Second,
		}
		out = append(out, j)
		at += j.Duration * time.Duration(100*int(j.GPUs)) / time.Duration(whole*part)
	}
	slices.SortStableFunc(out, func(a, b Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return out
}

// sizeOf draws how many GPUs a gang needs: those of some nodes, or most of one's.
func sizeOf(t *rapid.T, o *Options) uint32 {
	if rapid.Bool().Draw(t, "a gang of whole nodes") {
		return uint32(o.GPUs * rapid.IntRange(1, o.Nodes).Draw(t, "nodes of a gang"))
	}
	return uint32(rapid.IntRange(o.GPUs/2, o.GPUs).Draw(t, "GPUs of a gang"))
}
