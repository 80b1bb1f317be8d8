package httpapi_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A number that cannot be read as a whole one is refused with its bounds, which are those by
// which others are refused: for the writer of a request 1e9 is a whole number.
func TestBoundsAreTold(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	s.Submit(`{"command":"x"}`)
	for _, at := range []struct {
		method, path, rest string
		body               any
	}{
		{http.MethodPost, "/queue/submit", `"command":"x"`, wire.Submit{}},
		{http.MethodPatch, "/queue/1/priority", "", wire.SetPriority{}},
		{http.MethodPost, "/gpu/allocate", `"service_name":"web"`, wire.Allocate{}},
		{http.MethodPost, "/reservations", `"user":"ann","duration":"1h"`, wire.Reserve{}},
	} {
		described := boundsOf(t, at.body)
		for name, b := range described {
			most := b[1]
			refused := func(value string) string {
				body := strings.TrimSuffix(`{"`+name+`":`+value+`,`+at.rest, ",") + "}"
				p := s.Do(at.method, at.path, body).Problem(http.StatusUnprocessableEntity, wire.CodeInvalid)
				return p.Errors[0].Field + " " + p.Errors[0].Message
			}
			bounds := fmt.Sprintf("%d to %d", b[0], most)
			if got := refused("1e9"); got != name+" must be a whole number, "+bounds {
				t.Errorf("%s: %s", at.path, got)
			}
			if got := refused(strconv.FormatInt(most+1, 10)); got != name+" must be "+bounds && name != "min_gpus" { // of which gpu_count is the most
				t.Errorf("%s: %s", at.path, got)
			}
		}
		if len(described) == 0 {
			t.Errorf("nothing of %s is bounded", at.path)
		}
	}
}

// boundsOf returns the bounds of the numbers in a body, by name: those of its tags, or of the table of fields.
func boundsOf(t *testing.T, body any) map[string][2]int64 {
	t.Helper()
	out := map[string][2]int64{}
	if _, is := body.(wire.Submit); is {
		for _, f := range intake.Fields() {
			if f.Most > 0 {
				out[f.Name] = [2]int64{f.Least, f.Most}
			}
		}
		return out
	}
	for f := range reflect.TypeOf(body).Fields() {
		if f.Tag.Get("minimum") == "" {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		least, err1 := strconv.ParseInt(f.Tag.Get("minimum"), 10, 64)
		most, err2 := strconv.ParseInt(f.Tag.Get("maximum"), 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("%s has the bounds %s", name, f.Tag)
		}
		out[name] = [2]int64{least, most}
	}
	return out
}
