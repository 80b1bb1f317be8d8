package node

//berth:bubble

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/gpu"
	"github.com/berth-gpu/berth/node/runner"
)

// looks is a driver that takes a while for a look at its GPUs.
type looks struct {
	gpu.Source
	take  time.Duration
	dirty bool
}

func (l *looks) Check(ids []model.GPUID) []gpu.Verdict {
	time.Sleep(l.take)
	out := make([]gpu.Verdict, 0, len(ids))
	for _, id := range ids {
		out = append(out, gpu.Verdict{GPU: id, Known: true, Busy: l.dirty})
	}
	return out
}

// The report of an end has that the rank's GPUs are clean, if that is known soon. A driver that is slow, and a GPU that is not clean
// yet, do not keep the report.
func TestAnEndIsReportedWithItsCleanGPUs(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		driver  looks
		after   time.Duration // the end is reported
		cleaned int           // slots with it
	}{
		"quick":     {looks{take: 3 * time.Millisecond}, 3 * time.Millisecond, 2},
		"slow":      {looks{take: 3 * time.Second}, cleanPause, 0},
		"not clean": {looks{take: time.Millisecond, dirty: true}, time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &core{Config: Config{GPUs: &v.driver, Log: slog.New(slog.DiscardHandler)}, worker: newWorker(t.Context())}
				units := newUnits(c)
				k := &contact{core: c}
				reports := newReporter(c, k, units)
				clean := newCleaner(c, k, units, reports)
				units.ended = clean.early
				u := &unit{
					record: &runner.Record{GPUs: []runner.GPU{{ID: "GPU-1"}, {ID: "GPU-2"}}, Nonce: "a"},
					phase:  model.RankRunning, confirmed: confirmed{phase: model.RankRunning},
				}
				units.put(u)
				units.learn(u, model.RankExited, model.Exit{})
				began, told := time.Now(), &agentwire.Report{}
				for reports.fill(told); len(told.Reports) == 0; reports.fill(told) {
					select {
					case then := <-c.inbox:
						then()
					case <-time.After(cleanPause):
					}
				}
				if took := time.Since(began); took != v.after || len(told.Cleaned) != v.cleaned {
					t.Errorf("reported after %s with %+v, want after %s with %d slots", took, told.Cleaned, v.after, v.cleaned)
				}
				c.work.Wait() // for a slow look
			})
		})
	}
}

// That a job runs is told after a moment, in which a short one has ended: then one report has both.
func TestAStartIsReportedAfterAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &core{worker: newWorker(t.Context())}
		units := newUnits(c)
		u := &unit{name: "7", record: &runner.Record{Nonce: "a"}, phase: model.RankTaken, life: life{alive: true}}
		units.put(u)
		units.update(runner.Event{Name: "7", Status: runner.Status{Nonce: "a", Phase: model.RankRunning}})
		if p, reports := u.progress(""); reports {
			t.Errorf("reported at once: %+v", p)
		}
		began := time.Now()
		(<-c.inbox)()
		if p, reports := u.progress(""); !reports || p.Phase != model.RankRunning || time.Since(began) != startPause {
			t.Errorf("after %s: %+v, %t", time.Since(began), p, reports)
		}
	})
}
