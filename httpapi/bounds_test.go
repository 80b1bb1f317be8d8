package httpapi

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A number that cannot be read as a whole one is refused with its bounds, which are those by
// which others are refused: for the writer of a request 1e9 is a whole number.
func TestBoundsAreTold(t *testing.T) {
	s := newSite(t)
	s.with(func(c *statetest.Cluster) { c.Node("n1", 4) })
	s.submit(`{"command":"x"}`)
	for _, at := range []struct {
		method, path, rest string
		body               any
	}{
		{http.MethodPost, "/queue/submit", `"command":"x"`, wire.Submit{}},
		{http.MethodPatch, "/queue/1/priority", "", wire.SetPriority{}},
		{http.MethodPost, "/gpu/allocate", `"service_name":"web"`, wire.Allocate{}},
		{http.MethodPost, "/reservations", `"user":"ann","duration":"1h"`, wire.Reserve{}},
	} {
		bounded := 0
		for f := range reflect.TypeOf(at.body).Fields() {
			low, high := f.Tag.Get("minimum"), f.Tag.Get("maximum")
			if low == "" {
				continue
			}
			bounded++
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			most, err := strconv.ParseInt(high, 10, 64)
			if err != nil {
				t.Fatalf("%s is at most %q", name, high)
			}
			refused := func(value string) string {
				body := strings.TrimSuffix(`{"`+name+`":`+value+`,`+at.rest, ",") + "}"
				p := s.do(at.method, at.path, body).problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
				return p.Errors[0].Field + " " + p.Errors[0].Message
			}
			bounds := low + " to " + high
			if got := refused("1e9"); got != name+" must be a whole number, "+bounds {
				t.Errorf("%s: %s", at.path, got)
			}
			if got := refused(strconv.FormatInt(most+1, 10)); got != name+" must be "+bounds && name != "min_gpus" { // of which gpu_count is the most
				t.Errorf("%s: %s", at.path, got)
			}
		}
		if bounded == 0 {
			t.Errorf("nothing of %s is bounded", at.path)
		}
	}
}
