package simulate

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/fsm/model"
)

// With exact estimates, without suspensions and further submissions, jobs start at the predicted second.
func TestForecastsComeTrue(t *testing.T) {
	foretold := 0
	rapid.Check(t, func(t *rapid.T) {
		o := options(rapid.SampledFrom(model.Policies()).Draw(t, "policy"))
		o.Nodes, o.GPUs = rapid.IntRange(1, 3).Draw(t, "nodes"), rapid.IntRange(1, 4).Draw(t, "GPUs of a node")
		o.Foretell = true
		jobs := make([]Job, rapid.IntRange(1, 20).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = Job{
				ID: fmt.Sprint(i), User: rapid.SampledFrom([]string{"amy", "bob"}).Draw(t, "user"),
				GPUs:     uint32(rapid.IntRange(1, o.Nodes*o.GPUs).Draw(t, "GPUs")),
				Duration: time.Duration(rapid.IntRange(1, 20).Draw(t, "duration")) * time.Minute,
			}
		}
		r, err := Play(t.Context(), jobs, o)
		if err != nil {
			t.Fatal(err)
		}
		if foretold += r.Foretold.Jobs; r.Foretold.Jobs > 0 && (r.Foretold.InRange < 100 || r.Foretold.P90Off > 0) {
			t.Errorf("%+v", *r.Foretold)
		}
	})
	if foretold == 0 {
		t.Error("no job waited")
	}
}
