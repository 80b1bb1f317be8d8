package fleet_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// lastHour returns records of each minute of an hour up to a time, but not of the middle.
func lastHour(now time.Time) *history.Ring {
	records := &history.Ring{}
	first := history.Minute(now.Unix()/60) - 60
	for i := range history.Minute(61) {
		if i == 30 {
			continue
		}
		one := history.Record{Minute: first + i, Term: 3}
		for k := range one.Values {
			one.Values[k] = history.None
		}
		one.Values[history.GPUsAllocated], one.Values[history.Utilization] = int64(i), 505
		records.Put(one, first+60)
	}
	return records
}

// The history is answered in columns, with gaps, in steps of any number of minutes; wrong values are refused by name.
func TestTheHistoryOfTheCluster(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	now := s.Now()
	s.API.Peer.History = lastHour(now)
	at := func(minutes int) string {
		return now.Truncate(time.Minute).Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
	}
	get := func(query string) (out wire.ClusterHistory) {
		s.Do(http.MethodGet, "/cluster/history"+query, "").Into(&out)
		return out
	}
	day := get("?until=" + at(1))
	held := day.Series["gpus_allocated"]
	if len(day.Series) != len(history.AllSeries()) || day.Step != 60 || len(held) != history.Kept || held[len(held)-1] == nil ||
		*held[len(held)-2] != 59 || held[0] != nil {
		t.Fatalf("%d series of %d steps from %s: %v", len(day.Series), len(held), day.Start, held[len(held)-3:])
	}
	if v := day.Series["wait_p50_seconds"]; slices.ContainsFunc(v, func(f *float64) bool { return f != nil }) || *day.Series["utilization_percent"][history.Kept-1] != 50.5 {
		t.Error("values that are not known are shown, or in the wrong unit")
	}
	part := get("?since=" + at(-31) + "&until=" + at(-28) + "&series=gpus_allocated,gpus_allocated_max,gpus_allocated")
	if v := part.Series["gpus_allocated"]; len(part.Series) != 2 || len(v) != 3 || *v[0] != 29 || v[1] != nil || *v[2] != 31 ||
		!part.Start.Equal(now.Truncate(time.Minute).Add(-31*time.Minute)) {
		t.Errorf("%+v", part)
	}
	if usual := get("").Series["nodes"]; len(usual) != history.Kept {
		t.Errorf("usually there are %d steps", len(usual))
	}
	hours := get("?since=" + at(-61) + "&step=3600&series=gpus_allocated_max,gpus_allocated")
	for _, v := range hours.Series {
		if len(v) < 2 || hours.Start.Unix()%3600 != 0 {
			t.Errorf("%+v", hours)
		}
	}
	refusedHistories(s, at)
	r := s.Do(http.MethodGet, "/cluster/history?until="+at(0), "")
	if tag := r.Header.Get("ETag"); tag == "" || s.Do(http.MethodGet, "/cluster/history?until="+at(0), "", "If-None-Match", tag).Status != http.StatusNotModified {
		t.Error("the same answer is sent again")
	}
	s.API.Peer.History = &history.Ring{}
	if none := get("?series=nodes"); len(none.Series["nodes"]) != history.Kept {
		t.Errorf("with an empty history: %+v", none)
	}
}

// refusedHistories asks with values that are refused.
func refusedHistories(s *apitest.Site, at func(minutes int) string) {
	s.T.Helper()
	for query, field := range map[string]string{
		"?step=90": "step", "?step=0": "step", "?step=-60": "step", "?step=86460": "step", "?step=1m": "step", "?series=gpus": "series", "?series=gpus_total,,nodes": "series",
		"?since=" + at(5): "since", "?since=" + at(-10) + "&until=" + at(-10): "since", "?since=yesterday": "since", "?until=2026": "until", "?from=1": "from",
		"?since=" + at(-1500): "step", "?series=": "series",
	} {
		s.Do(http.MethodGet, "/cluster/history"+query, "").About(field)
	}
	if text := string(s.Do(http.MethodGet, "/cluster/history?series=gpu", "").Body); !strings.Contains(text, "gpus_idle_held") || !strings.Contains(text, "_max") {
		s.T.Errorf("the refusal does not name the series: %s", text)
	}
}
