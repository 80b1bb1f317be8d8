package admin_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// changed returns the next event of a stream of changes.
func (f *watcher) changed() (c wire.Changed) {
	f.t.Helper()
	for f.lines.Scan() {
		if text, is := strings.CutPrefix(f.lines.Text(), "data: "); is {
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				f.t.Fatal(err)
			}
			return c
		}
	}
	f.t.Fatalf("the stream has ended: %v", f.lines.Err())
	return c
}

// TestChanges checks that a stream of changes begins with the present indices, that each change is seen, many at once by few events, and
// that it has no filters.
func TestChanges(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	f := follow(s, "?types=changed")
	before := f.changed()
	now := s.State()
	if before.Index != now.Index || len(before.Topics) != 5 {
		t.Errorf("it begins with %+v, the state is %d", before, now.Index)
	}
	const burst = 50
	for range burst {
		s.Submit(`{"command":"true"}`).Into(new(wire.Submitted))
	}
	now = s.State()
	events := 0
	last := before
	for last.Index < now.Index {
		last = f.changed()
		events++
	}
	if last.Topics["queue"] <= before.Topics["queue"] || last.Topics["job"] <= before.Topics["job"] || last.Topics["settings"] < before.Topics["settings"] {
		t.Errorf("after submissions: %+v, before: %+v", last, before)
	}
	if events >= burst {
		t.Errorf("%d changes are %d events", burst, events)
	}
	once := s.Do(http.MethodGet, "/events?types=changed&once=true", "")
	if !strings.Contains(string(once.Body), "event: changed\ndata: {") || strings.Count(string(once.Body), "data:") != 1 {
		t.Errorf("once: %s", once.Body)
	}
	for _, query := range []string{"&job=1", "&user=ann", "&node=n1", "&last=3", "&after=x", "&target=job%201"} {
		s.Do(http.MethodGet, "/events?types=changed"+query, "").About("types")
	}
	s.Do(http.MethodGet, "/events?types=changed,job.started", "").About("types")
}
