package jobs

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Lengths of time are written as the command line takes them, in every text of this program.
func TestSpansOfAnAnalysis(t *testing.T) {
	var out strings.Builder
	err := showAnalysis(&out, &wire.WorkloadPlan{Duration: 480 * 3600})
	if err != nil || !strings.Contains(out.String(), "Duration  20d ") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
