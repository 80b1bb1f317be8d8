package root

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// berth jobs sends its filters, reads page after page, and prints a table, CSV, JSON or a count.
func TestJobsAreListed(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Encode())
		w.Header().Set("Content-Type", "application/json")
		switch {
		case q.Get("count") != "":
			_, _ = fmt.Fprint(w, `{"jobs": [{"id": "9"}], "total": 1234}`)
		case q.Get("after") == "":
			_, _ = fmt.Fprint(w, `{"jobs": [{"id": "9", "name": "nine", "user": "ann", "state": "running", "priority": 2, "gpu_count": 4}], "next": "more"}`)
		default:
			_, _ = fmt.Fprint(w, `{"jobs": [{"id": "7", "run_id": "r7", "user": "ann", "state": "failed", "priority": 2, "exit_code": 3}]}`)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, v := range []struct{ line, query, want string }{
		{
			"jobs --user ann,bob --state running,failed --project vision --name train-* --node n1 --held --gpus 2- --search x --ids 3,7-9 --sort -gpu_count --limit 0",
			"consistency=linearizable&gpu_count=2-&held=true&ids=3%2C7-9&limit=1000&name=train-%2A&node=n1&order=desc&project=vision&q=x&sort=gpu_count&state=running%2Cfailed&user=ann%2Cbob",
			"r7",
		},
		{"jobs --limit 1", "consistency=linearizable&limit=1", "There are more than these 1 jobs"},
		{"jobs --limit 0 -o csv", "consistency=linearizable&limit=1000", "7,r7,ann,,2,0,0,failed,,3,"},
		{"jobs --limit 0 -o json --sort user", "consistency=linearizable&limit=1000&order=asc&sort=user", `"id": "7"`},
		{"jobs --count --state queued", "consistency=linearizable&count=true&fields=id&limit=1&state=queued", "1234\n"},
	} {
		asked = nil
		code, out, errs := called(append(strings.Fields(v.line), "--address", address)...)
		if code != 0 || len(asked) == 0 || asked[0] != v.query || !strings.Contains(out, v.want) {
			t.Errorf("%s: %d, %q %q\n%s%s", v.line, code, asked, v.query, out, errs)
		}
	}
	if code, _, errs := called("jobs", "--limit", "-1", "--address", address); code != 2 || !strings.Contains(errs, "--limit must not be negative") {
		t.Errorf("%d %s", code, errs)
	}
}
