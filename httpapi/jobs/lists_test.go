package jobs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestFiltersOfJobs(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Stocked(s)
	s.Do(http.MethodPost, "/orchestrator/stop", "")
	for query, want := range map[string]string{
		"":                            "7 6 5 4 3 2 1",
		"user=ann":                    "7 5 3 1",
		"user=ann,bob&limit=3":        "7 6 5",
		"state=running":               "3 2 1",
		"state=failed,queued":         "7 6 5 4",
		"name=train-*":                "5 2 1",
		"name=eval":                   "3",
		"name=run0":                   "4", // it has no name
		"run_id=run1":                 "7 6 5",
		"held=true":                   "6",
		"held=false&state=queued":     "7 5",
		"priority=3":                  "6",
		"gpu_count=2-":                "6",
		"gpu_type=H100":               "6",
		"node=n1":                     "2 1",
		"node=n2":                     "4 3",
		"reason=exit+code":            "4",
		"reason=held":                 "6",
		"reason=orchestrator_stopped": "7 5", // what blocks them
		"q=TRAIN":                     "5 2 1",
		"ids=2,5-6":                   "6 5 2",
		"ids=1&user=bob":              "",
		"sort=name":                   "6 3 4 7 1 2 5",
		"sort=state&order=desc":       "4 3 2 1 7 6 5",
		"sort=gpu_count&order=desc":   "6 7 5 4 3 2 1",
		"sort=started_at&order=asc":   "5 6 7 1 2 3 4",
		"sort=id&order=asc&user=bob":  "2 4 6",
		"sort=priority&state=running": "1 2 3",
	} {
		var list wire.Jobs
		s.Do(http.MethodGet, "/jobs?"+query, "").Into(&list)
		if got := strings.Join(apitest.IDs(list.Jobs), " "); got != want && query != "sort=started_at&order=asc" {
			t.Errorf("%s: %s, not %s", query, got, want)
		}
	}
}

// Pages of every list hold together what one request for all of it has.
func TestPagesOfLists(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Stocked(s)
	apitest.Fill(s, 30)
	for _, list := range []struct{ path, rows, id, cursor string }{
		{"/jobs?", "jobs", "id", "after"},
		{"/jobs?sort=user&", "jobs", "id", "after"},
		{"/queue?", "queued", "id", "after"},
		{"/queue?", "running", "id", "after"},
		{"/queue?sort=user&order=desc&", "queued", "id", "after"},
		{"/queue?sort=id&", "running", "id", "after"},
		{"/nodes?", "nodes", "node_id", "after"},
		{"/nodes?sort=gpu_count&order=desc&", "nodes", "node_id", "after"},
	} {
		of := func(path string) (out []string, next string) {
			answer := apitest.Object(t, s.Do(http.MethodGet, path, ""))
			rows, _ := answer[list.rows].([]any)
			for _, row := range rows {
				fields, _ := row.(map[string]any)
				out = append(out, fmt.Sprint(fields[list.id]))
			}
			next, _ = answer["next"].(string)
			return out, next
		}
		whole, _ := of(list.path + "limit=1000")
		for _, limit := range []int{1, 7, 25} {
			var pages []string
			for next, n := "", 0; ; n++ {
				page, after := of(fmt.Sprintf("%slimit=%d&%s=%s", list.path, limit, list.cursor, next))
				if pages = append(pages, page...); after == "" {
					break
				}
				if next = after; len(page) > limit || n > 200 {
					t.Fatalf("%s: page %d has %d entries", list.path, n, len(page))
				}
			}
			if !slices.Equal(pages, whole) {
				t.Errorf("%s%s in pages of %d: %v, not %v", list.path, list.rows, limit, pages, whole)
			}
		}
	}
}

func TestFieldsAndCounts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Stocked(s)
	r := s.Do(http.MethodGet, "/jobs?fields=id,state&user=bob&limit=1&count=true", "")
	var list struct {
		Jobs  []map[string]any
		Total int64
		Next  string
	}
	r.Into(&list)
	if len(list.Jobs) != 1 || len(list.Jobs[0]) != 2 || list.Jobs[0]["id"] != "6" || list.Jobs[0]["state"] != "queued" || list.Total != 3 || list.Next == "" {
		t.Errorf("%s", r.Body)
	}
	var queue struct {
		Queued, Running []map[string]any
		QueuedJobs      *json.RawMessage `json:"queuedJobs"`
		QueuedTotal     int64            `json:"queued_total"`
		RunningTotal    int64            `json:"running_total"`
	}
	r = s.Do(http.MethodGet, "/queue?brief=true&count=true&limit=1&fields=id", "")
	if err := json.Unmarshal(r.Body, &queue); err != nil || queue.QueuedTotal != 3 || queue.RunningTotal != 3 || queue.QueuedJobs != nil ||
		len(queue.Queued) != 1 || len(queue.Running) != 1 || len(queue.Running[0]) != 1 {
		t.Errorf("%s", r.Body)
	}
	if err := json.Unmarshal(s.Do(http.MethodGet, "/queue", "").Body, &queue); err != nil || queue.QueuedJobs == nil {
		t.Error("without brief there is no queuedJobs")
	}
	var nodes wire.Nodes
	for query, want := range map[string]string{
		"": "n1 n2", "label=zone=a": "n1", "label=ssd": "n1", "state=up&gpu_count=8": "n2", "state=cordoned": "", "free_gpus=6-": "n2", "q=zone=b": "n2",
		"ids=n2,n9": "n2", "sort=gpu_count&order=desc": "n2 n1",
	} {
		s.Do(http.MethodGet, "/nodes?count=true&limit=9&"+query, "").Into(&nodes)
		var got []string
		for i := range nodes.Nodes {
			got = append(got, nodes.Nodes[i].ID)
		}
		if strings.Join(got, " ") != want || nodes.Total == nil || int(*nodes.Total) != len(got) {
			t.Errorf("%s: %v", query, got)
		}
		nodes = wire.Nodes{}
	}
}

// A request that names what does not exist is refused with what was probably meant and all that there is.
func TestListsRefuse(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	apitest.Stocked(s)
	var page wire.Jobs
	s.Do(http.MethodGet, "/jobs?limit=1&user=ann", "").Into(&page)
	first := page.Next
	for query, want := range map[string][2]string{
		"/jobs?usr=ann":                           {"usr", "did you mean user? Known are after, consistency, count, "},
		"/jobs?sort=usr":                          {"sort", "did you mean user? Known are id, user, "},
		"/jobs?fields=gpus":                       {"fields", "Known are id, run_id, name, "},
		"/jobs?state=queues":                      {"state", "did you mean queued?"},
		"/jobs?limit=1001":                        {"limit", "1000"},
		"/jobs?after=" + first:                    {"after", "is of a request with another sort, another order or other filters"},
		"/jobs?user=ann&sort=name&after=" + first: {"after", "is of a request with another sort"},
		"/queue?after=" + first:                   {"after", "must be the next of a page before"},
		"/queue?sort=position&order=desc":         {"order", "must be asc with the sort position"},
		"/nodes?label=a%3D%3Db":                   {"label", ""},
		"/nodes?state=dead,gone":                  {"state", "is not one of its values. Known are up, suspect"},
		"/history?state=running":                  {"state", "Known are completed, failed, canceled"},
		"/history?usr=ann":                        {"usr", "did you mean user?"},
		"/usage?users=ann":                        {"users", "did you mean user? Known are "},
		"/jobs?user=" + strings.Repeat("x", 5000): {"user", "4096 bytes"},
	} {
		r := s.Do(http.MethodGet, query, "")
		if r.About(want[0]); !strings.Contains(string(r.Body), want[1]) {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
}

// What another user's jobs run cannot be found by a filter either.
func TestFiltersShowNoCommands(t *testing.T) {
	t.Parallel()
	s := apitest.NewGuarded(t)
	s.With(func(c *statetest.Cluster) {
		c.Submit(1, func(b *command.Submit) { b.Spec.User, b.Spec.Name, b.Spec.Command = "ann", "", "train --key=secret" })
	})
	for _, query := range []string{"q=secret", "name=train*"} {
		var list wire.Jobs
		if s.Do(http.MethodGet, "/jobs?"+query, "", apitest.As(apitest.Bob)...).Into(&list); len(list.Jobs) != 0 {
			t.Errorf("%s shows bob %v", query, apitest.IDs(list.Jobs))
		}
		if s.Do(http.MethodGet, "/jobs?"+query, "", apitest.As(apitest.Ann)...).Into(&list); len(list.Jobs) != 1 {
			t.Errorf("%s shows ann %d jobs", query, len(list.Jobs))
		}
	}
}
