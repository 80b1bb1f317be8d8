package node

import (
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// A rank is reported as taken only once it has its folder: an agent that dies before leaves nothing by which the next one could
// know of the rank.
func TestARankIsTakenOnceItHasAFolder(t *testing.T) {
	u := &unit{record: &runner.Record{}, phase: model.RankTaken, life: life{alive: true, busy: true}}
	if p, reports := u.progress(""); reports {
		t.Errorf("a rank without a folder is reported: %+v", p)
	}
	u.life.busy = false
	if p, reports := u.progress(""); !reports || p.Phase != model.RankTaken {
		t.Errorf("a rank with a folder is not reported: %+v, %t", p, reports)
	}
}
