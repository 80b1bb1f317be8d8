package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What events are asked for goes to the API as it is, which chooses.
func TestEventsAreChosenByTheAPI(t *testing.T) {
	asked := ""
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Encode()
		fmt.Fprint(w, ": events follow\n\nid: 1\ndata: {\"id\":\"1\",\"type\":\"job.failed\",\"actor\":\"user:ann\",\"target\":\"job 17\"}\n\n")
	}))
	defer peer.Close()
	code, out, errs := called("events", "--address", strings.TrimPrefix(peer.URL, "http://"), "--type", "failed", "--job", "17", "--user", "bob",
		"--node", "n1", "--actor", "ann", "--target", "job 17", "-n", "5")
	if code != 0 || !strings.Contains(out, "user:ann") || !strings.Contains(out, "job 17") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if want := "actor=ann&job=17&last=5&node=n1&once=true&target=job+17&types=failed&user=bob"; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
}
