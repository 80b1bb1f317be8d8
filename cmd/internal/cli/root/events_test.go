package root

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/cmd/internal/table"
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

// narrow is a terminal of 40 columns.
type narrow struct{ bytes.Buffer }

func (*narrow) Size() (columns, lines int) { return 40, 20 }

// Lines of events fit the terminal, the head too.
func TestEventsFitTheTerminal(t *testing.T) {
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, ": events follow\n\nid: 1\ndata: {\"id\":\"1\",\"type\":\"job.failed\",\"actor\":\"user:ann\",\"target\":\"job 17\"}\n\n")
	}))
	defer peer.Close()
	out, errs := &narrow{}, &bytes.Buffer{}
	code := Run([]string{"events", "--address", strings.TrimPrefix(peer.URL, "http://")}, out, errs)
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if code != 0 || len(lines) != 2 || !strings.HasPrefix(lines[0], "TIME") {
		t.Fatalf("exit code %d, %q %s", code, lines, errs)
	}
	for _, line := range lines {
		if table.Width(line) > 40 {
			t.Errorf("%q is %d columns wide", line, table.Width(line))
		}
	}
}
