package admin

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Lengths of time are written as the command line takes them, in every text of this program.
func TestSpansAreWrittenAlike(t *testing.T) {
	week, day := 7*24*3600.0, 36*3600.0
	hours, used := 5.0, 1.0
	var out strings.Builder
	q := wire.Quota{Scope: "user", Name: "ann", MaxRunTime: &day, GPUHours: &hours, Period: &week, Used: wire.QuotaUse{GPUHours: &used}}
	err := showQuotas(&out, &wire.Quotas{Quotas: []wire.Quota{q}})
	if text := out.String(); err != nil || !strings.Contains(text, "-/1d12h") || !strings.Contains(text, "of 7d, until") {
		t.Errorf("%v\n%s", err, text)
	}
}
