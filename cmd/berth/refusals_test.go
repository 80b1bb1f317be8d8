package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
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

// All pages are asked for, of one peer: another's would not go on with it.
func TestRefusalsArePaged(t *testing.T) {
	asked, other := []string{}, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Encode())
		w.Header().Set("Content-Type", "application/json")
		switch before := r.URL.Query().Get("before"); {
		case before == "":
			fmt.Fprint(w, `{"peer":"p1","refusals":[{"code":"denied","path":"/a"}],"next":4294967301}`)
		case other:
			fmt.Fprint(w, `{"peer":"p2","refusals":[{"code":"denied","path":"/c"}]}`)
		default:
			fmt.Fprint(w, `{"peer":"p1","refusals":[{"code":"denied","path":"/b"}]}`)
		}
	}))
	defer server.Close()
	args := []string{"audit", "--refusals", "--limit", "0", "--result", "denied", "--address", strings.TrimPrefix(server.URL, "http://")}
	code, out, errs := called(args...)
	if want := []string{"code=denied&limit=1000", "before=4294967301&code=denied&limit=1000"}; code != 0 || !slices.Equal(asked, want) {
		t.Errorf("exit code %d, asked for %q: %s", code, asked, errs)
	}
	if !strings.Contains(out, "/a") || !strings.Contains(out, "/b") || strings.Contains(out, "older records") {
		t.Errorf("it shows %s", out)
	}
	other = true
	if code, out, errs = called(args...); code != cli.ExitFailure || !strings.Contains(errs, "peer p1 does not answer any more") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
