package fleet

import (
	"maps"
	"slices"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestLabelBodies(t *testing.T) {
	body, err := labelsBody([]string{"zone=a", "ssd", "spot-"})
	if err != nil || !maps.Equal(body.Set, map[string]string{"zone": "a", "ssd": ""}) || !slices.Equal(body.Remove, []string{"spot"}) {
		t.Errorf("asks for %+v (%v)", body, err)
	}
	if _, err := labelsBody([]string{"a b"}); cmdline.ExitCode(err) != cmdline.ExitUsage {
		t.Errorf("taken: %v", err)
	}
	if got := labelsOf(&wire.Node{Labels: wire.Labels{"zone": "a", "ssd": ""}}); got != "ssd, zone=a" {
		t.Errorf("shown as %q", got)
	}
}
