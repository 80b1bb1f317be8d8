package client

import (
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Requests of programs that show a whole cluster.
func TestWhatPagesSend(t *testing.T) {
	t.Parallel()
	p := newPeer(t, says("{}"))
	c := connect(t, p.address())
	for _, step := range []struct {
		do         func() error
		want, body string
	}{
		{func() error {
			_, err := c.Bulk(t.Context(), &wire.Bulk{Action: "hold", IDs: []string{"7"}}, "")
			return err
		}, "POST /queue/bulk", `{"action":"hold","ids":["7"]}`},
		{func() error {
			_, err := c.Lists().Nodes(t.Context(),
				NodesQuery{Limit: 2, Selection: Selection{Filters: map[string]string{"label": "zone=a"}, Sort: "free_gpus", Order: "desc", Fields: []string{"node_id", "jobs"}, Count: true}})
			return err
		}, "GET /nodes?count=true&fields=node_id%2Cjobs&label=zone%3Da&limit=2&order=desc&sort=free_gpus", ""},
		{func() error { _, err := c.MoveBefore(t.Context(), "1", "7"); return err }, "PATCH /queue/1/priority", `{"before":"7"}`},
		{func() error { _, err := c.Lists().Samples(t.Context()); return err }, "GET /gpu/samples", ""},
		{func() error {
			_, err := c.Lists().ClusterHistory(t.Context(), SpanQuery{Since: time.Unix(3600, 0), Step: 5 * time.Minute, Series: []string{"gpus_busy", "jobs_waiting_max"}})
			return err
		}, "GET /cluster/history?series=gpus_busy%2Cjobs_waiting_max&since=1970-01-01T01%3A00%3A00Z&step=300", ""},
		{func() error { _, err := c.Lists().SubmitOptions(t.Context()); return err }, "GET /submit/options", ""},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		r, body := p.last()
		if got := r.Method + " " + r.URL.RequestURI(); got != step.want || body != step.body {
			t.Errorf("sent %s %s, want %s %s", got, body, step.want, step.body)
		}
	}
}
