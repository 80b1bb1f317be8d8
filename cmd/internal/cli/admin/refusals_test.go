package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// What a peer has refused is told in lines, for people and for programs.
func TestShowRefusals(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	all := &wire.Refusals{Peer: "p2", Next: 7, Refusals: []wire.Refusal{
		{Time: at, Actor: "user:ann", From: "10.0.0.7", Method: "POST", Path: "/orchestrator/stop", Status: 403, Code: "denied", Request: "r-1"},
	}}
	for _, v := range []struct {
		all  *wire.Refusals
		want []string
	}{
		{all, []string{"ACTOR", "user:ann", "POST /orchestrator/stop", "denied", "There are older records"}},
		{&wire.Refusals{Peer: "p2"}, []string{"Peer p2 has no record of this kind"}},
	} {
		var out strings.Builder
		if err := showRefusals(&out, v.all); err != nil {
			t.Fatal(err)
		}
		for _, want := range v.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing:\n%s", want, out.String())
			}
		}
	}
	if got := strings.Join(refusalLines(all.Refusals)[1], ","); got != "2026-11-22T12:00:00Z,user:ann,10.0.0.7,POST,/orchestrator/stop,403,denied,r-1,0" {
		t.Errorf("as csv: %s", got)
	}
}
