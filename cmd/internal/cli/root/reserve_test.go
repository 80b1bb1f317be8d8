package root

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// reserveAPI answers about reservations, and remembers what it was asked for.
type reserveAPI struct {
	*fakeAPI
	got    wire.Reserve
	limits wire.SetReservationLimits
}

func newReserveAPI(t *testing.T) *reserveAPI {
	f := &reserveAPI{fakeAPI: &fakeAPI{}}
	start := time.Date(2031, 5, 1, 9, 0, 0, 0, time.Local)
	list := wire.Reservations{Reservations: []wire.Reservation{
		{ID: "3", Kind: "reservation", User: "alice", GPUs: 8, GPUType: "H200", Start: start, End: start.Add(4 * time.Hour), State: "active", Short: 3},
		{ID: "4", Kind: "maintenance", Nodes: []string{"gpu3", "gpu4"}, Start: start, End: start.Add(time.Hour), State: "planned", Reason: "new driver"},
	}, Limits: wire.ReservationLimits{Percent: 50, Ahead: wire.Duration(24 * time.Hour), Longest: wire.Duration(time.Hour), PerUser: 10}}
	mux := http.NewServeMux()
	serve := func(pattern string, into, out any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if into != nil {
				if err := json.NewDecoder(r.Body).Decode(into); err != nil {
					t.Error(err)
				}
			}
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(out); err != nil {
				t.Error(err)
			}
		})
	}
	serve("GET /reservations", nil, &list)
	serve("POST /reservations", &f.got, &wire.Reserved{Success: true, Reservation: &list.Reservations[0]})
	serve("PUT /reservations/limits", &f.limits, &list)
	serve("DELETE /reservations/3", nil, &wire.Reserved{Success: true})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func TestReserveLists(t *testing.T) {
	f := newReserveAPI(t)
	code, out, errs := f.berth(t, "reserve")
	want := `ID  OWNER          GPUS  START             END               STATE              NODES      REASON
 3  alice        8 H200  2031-05-01 09:00  2031-05-01 13:00  active, 3 missing  -          -
 4  maintenance     all  2031-05-01 09:00  2031-05-01 10:00  planned            gpu3,gpu4  new driver
`
	if code != 0 || out != want {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", code, errs, out, want)
	}
	if code, out, _ := f.berth(t, "reserve", "-o", "json"); code != 0 || !strings.Contains(out, `"short_gpus": 3`) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out, _ := f.berth(t, "reserve", "cancel", "3"); code != 0 || out != "Canceled 3\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, _, _ := f.berth(t, "reserve", "cancel", "9"); code != cmdline.ExitNotFound {
		t.Errorf("exit code %d for what is not there", code)
	}
	if code, out, _ := f.berth(t, "reserve", "limits", "--percent", "75", "--longest", "7d"); code != 0 || !strings.Contains(out, "ahead             1d") || !strings.Contains(out, "longest           1h") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if *f.limits.Percent != 75 || *f.limits.Longest != wire.Duration(7*24*time.Hour) || f.limits.Ahead != nil || f.limits.PerUser != nil {
		t.Errorf("the limits are set to %+v", f.limits)
	}
}

func TestReserve(t *testing.T) {
	f := newReserveAPI(t)
	eight, day, yes := int64(8), wire.Duration(24*time.Hour), true
	for _, v := range []struct {
		args []string
		want wire.Reserve
	}{
		{
			[]string{"--gpus", "8", "--start", "+2h", "-d", "1d", "--user", "alice", "--model", "H200"},
			wire.Reserve{GPUs: &eight, User: "alice", Start: "+7200", Duration: &day, GPUType: "H200"},
		},
		{
			[]string{"--nodes", "gpu1,gpu2", "--end", "2031-05-01T09:00:00Z", "-p", "vision", "--reason", "course"},
			wire.Reserve{Nodes: []string{"gpu1", "gpu2"}, Project: "vision", End: "2031-05-01T09:00:00Z", Reason: "course"},
		},
		{[]string{"-g", "8", "-d", "24h", "--start", "now"}, wire.Reserve{GPUs: &eight, User: cli.ThisUser(), Duration: &day}},
		{[]string{"--maintenance", "--nodes", "gpu3", "-d", "1d"}, wire.Reserve{Nodes: []string{"gpu3"}, Duration: &day, Maintenance: &yes}},
	} {
		f.got = wire.Reserve{}
		if code, out, errs := f.berth(t, append([]string{"reserve"}, v.args...)...); code != 0 || !strings.HasPrefix(out, "Reserved 3\n") ||
			!reflect.DeepEqual(f.got, v.want) {
			t.Errorf("%v: exit code %d, %s\n%s\nasked for %+v", v.args, code, errs, out, f.got)
		}
	}
	for _, args := range [][]string{
		{"-g", "8"},
		{"-d", "1h"},
		{"-g", "-1", "-d", "1h"},
		{"-g", "8", "-d", "1h", "--end", "+1h"},
		{"-g", "8", "-d", "soon"},
		{"-g", "8", "-d", "1h", "--start", "soon"},
		{"-g", "8", "-d", "1h", "-u", "a", "-p", "b"},
		{"--maintenance", "-d", "1h"},
		{"--maintenance", "--nodes", "a", "-g", "8", "-d", "1h"},
		{"cancel"},
		{"limits", "--ahead", "soon"},
		{"all"},
	} {
		if code, out, errs := f.berth(t, append([]string{"reserve"}, args...)...); code != cmdline.ExitUsage || out != "" {
			t.Errorf("%v: exit code %d, %s\n%s", args, code, errs, out)
		}
	}
}
