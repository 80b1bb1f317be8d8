package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
)

// Over a week in which everybody has more to run than there is room for, each user gets
// GPU time in proportion to their shares, to a twentieth. If jobs are of unlike sizes one may be
// an eighth of what a user gets in that week, and it is so in the mean of some draws. Where each user's jobs
// are of their own size, the smallest users' least or theirs greatest, it takes some days
// until users with less use lead, and it is so to a tenth.
func TestUseIsInProportionToShares(t *testing.T) {
	for n, v := range []struct {
		sizes  string
		draws  int
		within float64
	}{{oneSize, 1, 0.05}, {unlikeSizes, 6, 0.05}, {ownSizes, 6, 0.1}, {ownReversed, 6, 0.1}} {
		for _, preemptible := range []float64{0, 1} {
			t.Run(fmt.Sprintf("%s, preemptible %.0f", v.sizes, preemptible), func(t *testing.T) {
				if testing.Short() && n%2 == int(preemptible) {
					t.Skip("with -short, jobs of each size are preemptible or not")
				}
				t.Parallel()
				shares := []uint32{100, 100, 200, 400}
				mean := make([]float64, len(shares))
				for draw := range v.draws {
					for i, off := range offShares(t, uint64(draw)+1, shares, preemptible, v.sizes) {
						mean[i] += off / float64(v.draws)
					}
				}
				for i, off := range mean {
					t.Logf("user %c has %d shares and is off what they promise by %+.1f%% in the mean", 'a'+i, shares[i], 100*off)
					if math.Abs(off) > v.within {
						t.Errorf("that is more than %.0f%%", 100*v.within)
					}
				}
			})
		}
	}
}

// What sizes jobs have.
const (
	oneSize     = "one size"                  // 2 GPUs and 2 hours
	unlikeSizes = "unlike sizes"              // 1 to 8 GPUs and 1 to 5 hours
	ownSizes    = "own sizes"                 // the first user's 1 or 2 GPUs, the last one's 8 or 16
	ownReversed = "own sizes, great to small" // the other way round
)

// drawnSize is how many GPUs a job of the user of that index gets, and for how long.
func drawnSize(sizes string, user int, random *rand.Rand) (gpus uint32, runs time.Duration) {
	gpus, runs = 1<<random.IntN(4), time.Duration(1+random.IntN(5))*time.Hour
	switch sizes {
	case oneSize:
		return 2, 2 * time.Hour
	case ownSizes:
		return 1 << (user + random.IntN(2)), runs
	case ownReversed:
		return 1 << (3 - user + random.IntN(2)), runs
	}
	return gpus, runs
}

// offShares is by which part each user's GPU time differs from what their shares promise
// for a week.
func offShares(t *testing.T, draw uint64, shares []uint32, preemptible float64, sizes string) []float64 {
	t.Helper()
	const week = 7 * 24 * time.Hour
	r := backlog(t, draw, shares, preemptible, sizes)
	for r.cluster.Now.Sub(begin) < week {
		if err := r.step(); err != nil {
			t.Fatal(err)
		}
	}
	used, all, sum := make([]float64, len(shares)), 0.0, uint32(0)
	for _, j := range r.jobs {
		used[int(j.User[0]-'a')] += float64(j.GPUs) * j.worked(r.cluster.Now).Hours()
	}
	for _, j := range r.trace[:r.next] {
		if _, runs := r.jobs[taskOf(r, &j)]; !runs {
			used[int(j.User[0]-'a')] += float64(j.GPUs) * j.Duration.Hours()
		}
	}
	for i, n := range shares {
		all, sum = all+used[i], sum+n
	}
	for i, n := range shares {
		used[i] = used[i]/all/(float64(n)/float64(sum)) - 1
	}
	t.Logf("draw %d: of %.0f GPU-hours users got %+.3f more than their shares", draw, all, used)
	return used
}

// taskOf is the task of a job of the trace: jobs are numbered as they come.
func taskOf(r *Run, j *Job) model.TaskKey {
	for i := range r.trace {
		if r.trace[i].ID == j.ID {
			return model.TaskKey{Job: model.JobID(i + 1)}
		}
	}
	return model.TaskKey{}
}

// backlog is a play in which users a, b, ... have submitted at its beginning what takes
// more than a week.
func backlog(t *testing.T, draw uint64, shares []uint32, preemptible float64, sizes string) *Run {
	t.Helper()
	random := rand.New(rand.NewPCG(draw, 2))
	o := options("fair_share")
	o.Preemptible = preemptible
	var trace []Job
	for i := range shares {
		user := string(rune('a' + i))
		for sum := 0.0; sum < 16*7*24*1.2*float64(shares[i])/400; {
			j := Job{ID: fmt.Sprint(len(trace)), User: user}
			j.GPUs, j.Duration = drawnSize(sizes, i, random)
			sum += float64(j.GPUs) * j.Duration.Hours()
			trace = append(trace, j)
		}
	}
	c, err := newCluster(&o)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range shares {
		if err := c.Must(&command.SetWeight{Weight: model.Weight{
			Scope: model.ScopeKey{Kind: model.ScopeUser, Name: string(rune('a' + i))}, Shares: n,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	return &Run{
		options: o, cluster: c, trace: trace, jobs: map[model.TaskKey]*live{},
		random: rand.New(rand.NewPCG(1, 0)), measure: newMeasure(total(o.hosts()), 0),
	}
}
