package fleet_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// A reservation is made, told, kept free, named by explanations, and canceled.
func TestReservations(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4); c.Node("n2", 4) })
	var made wire.Reserved
	s.Do(http.MethodPost, "/reservations", `{"user":"ann","gpu_count":4,"start":"+2h","duration":"1h","reason":"course"}`).Into(&made)
	r := made.Reservation
	if !made.Success || r == nil || r.ID != "1" || r.User != "ann" || r.GPUs != 4 || r.State != "planned" || r.Reason != "course" ||
		r.End.Sub(r.Start) != time.Hour || r.CreatedBy == "" || r.CreatedAt.IsZero() {
		t.Fatalf("reserved %+v", made)
	}
	s.Submit(`{"command":"x","gpu_count":4,"user":"bob"}`).Into(&wire.Submitted{})
	s.Submit(`{"command":"x","gpu_count":4,"user":"bob"}`).Into(&wire.Submitted{})
	s.With(func(c *statetest.Cluster) { c.Place(1) })
	var job wire.Detail
	s.Do(http.MethodGet, "/jobs/2", "").Into(&job)
	if b := job.Explanation.Blockers; len(b) != 1 || b[0].Code != "reservation" || b[0].Reservation != "1" || !b[0].Until.Equal(r.End) {
		t.Errorf("it is explained by %+v", b)
	}
	s.Do(http.MethodPost, "/reservations", `{"project":"vision","gpu_count":4,"start":"+2h","end":"+3h","gpu_type":"H200"}`).Problem(http.StatusForbidden, "limit_exceeded")
	s.Do(http.MethodPut, "/reservations/limits", `{"percent":100,"longest":"2h"}`)
	s.Do(http.MethodPost, "/reservations", `{"project":"vision","gpu_count":4,"start":"+1h","end":"+3h","gpu_type":"H200"}`).Into(&made)
	var list wire.Reservations
	s.Do(http.MethodGet, "/reservations", "").Into(&list)
	if len(list.Reservations) != 2 || list.Reservations[0].ID != "2" || list.Reservations[0].Project != "vision" || list.Reservations[0].GPUType != "H200" ||
		list.Reservations[1].Short != 4 || list.Limits.Percent != 100 || list.Limits.Longest != wire.Duration(2*time.Hour) ||
		list.Limits.PerUser != 10 || list.Limits.Ahead != wire.Duration(90*24*time.Hour) {
		t.Errorf("the list is %+v", list)
	}
	s.Do(http.MethodDelete, "/reservations/1", "").Into(&made)
	s.Do(http.MethodDelete, "/reservations/1", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodDelete, "/reservations/x", "").Problem(http.StatusNotFound, wire.CodeNotFound)
	s.Do(http.MethodGet, "/reservations", "").Into(&list)
	if len(list.Reservations) != 1 || list.Reservations[0].Short != 0 {
		t.Errorf("after the cancel the list is %+v", list)
	}
}

// A maintenance is told with its nodes, before and while it lasts.
func TestMaintenance(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4); c.Node("n2", 4) })
	var made wire.Reserved
	s.Do(http.MethodPost, "/reservations", `{"maintenance":true,"nodes":["n2","n1","n2"],"start":"+1h","duration":3600,"reason":"new driver"}`).Into(&made)
	if r := made.Reservation; r.Kind != "maintenance" || !slices.Equal(r.Nodes, []string{"n1", "n2"}) || r.GPUs != 0 || r.User != "" {
		t.Fatalf("planned %+v", r)
	}
	node := func() (n wire.Node) {
		var nodes wire.Nodes
		s.Do(http.MethodGet, "/nodes", "").Into(&nodes)
		return nodes.Nodes[0]
	}
	if n := node(); n.State != "up" || len(n.Reservations) != 1 || n.Reservations[0].ID != "1" || n.Reservations[0].State != "planned" {
		t.Errorf("before, the node is %+v", n)
	}
	s.With(func(c *statetest.Cluster) {
		c.Wait(time.Hour)
		c.Do(&command.TurnBookings{IDs: []model.BookingID{1}})
	})
	if n := node(); n.State != "draining" || n.Reason != "maintenance 1: new driver" || n.Reservations[0].State != "active" {
		t.Errorf("then the node is %+v", n)
	}
}

// Nodes are written as they are for jobs.
func TestReservationOfARangeOfNodes(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4); c.Node("n2", 4); c.Node("n3", 4) })
	var made wire.Reserved
	s.Do(http.MethodPost, "/reservations", `{"maintenance":true,"nodes":["n[2-3]","n1"],"start":"+1h","duration":"1h"}`).Into(&made)
	if r := made.Reservation; !slices.Equal(r.Nodes, []string{"n1", "n2", "n3"}) {
		t.Errorf("planned %+v", r)
	}
	s.Do(http.MethodPost, "/reservations", `{"maintenance":true,"nodes":["n[3-4]"],"start":"+1h","duration":"1h"}`).Problem(http.StatusNotFound, wire.CodeNotFound)
	for _, nodes := range []string{`""`, `"n[3-1]"`, `"n1 n2"`} {
		s.Do(http.MethodPost, "/reservations", `{"maintenance":true,"nodes":[`+nodes+`],"duration":"1h"}`).About("nodes")
	}
}

// What is not allowed is named.
func TestReservationsThatMakeNoSense(t *testing.T) {
	s := apitest.New(t)
	s.With(func(c *statetest.Cluster) { c.Node("n1", 4) })
	for body, field := range map[string]string{
		`{"gpu_count":1,"duration":"1h"}`:                                           "user",
		`{"gpu_count":1,"duration":"1h","user":"a","project":"p"}`:                  "project",
		`{"gpu_count":1,"user":"a"}`:                                                "duration",
		`{"gpu_count":1,"user":"a","duration":"1h","end":"+2h"}`:                    "end",
		`{"gpu_count":1,"user":"a","start":"+2h","end":"+1h"}`:                      "end",
		`{"gpu_count":1,"user":"a\nb","duration":"1h"}`:                             "user",
		`{"maintenance":true,"duration":"1h","nodes":["n1"],"user":"a"}`:            "user",
		`{"maintenance":true,"duration":"1h","nodes":["n1"],"gpu_type":"A100"}`:     "gpu_type",
		`{"gpu_count":1,"user":"a","duration":0}`:                                   "duration",
		`{"gpu_count":0,"user":"a","duration":"1h"}`:                                "gpu_count",
		`{"user":"a","duration":"1h"}`:                                              "gpu_count",
		`{"gpu_count":1,"user":"a","duration":"1h","start":"soon"}`:                 "start",
		`{"gpu_count":1,"user":"a","duration":"1h","nodes":["n1 n2"]}`:              "nodes",
		`{"gpu_count":3,"user":"a","duration":"1h","nodes":["n1","n2"]}`:            "gpu_count",
		`{"maintenance":true,"duration":"1h"}`:                                      "nodes",
		`{"maintenance":true,"duration":"1h","nodes":["n1"],"gpu_count":1}`:         "gpu_count",
		`{"maintenance":true,"duration":"1h","nodes":["n1"],"reason":"two\nlines"}`: "reason",
	} {
		t.Run(body, func(t *testing.T) { s.Do(http.MethodPost, "/reservations", body).About(field) })
	}
	s.Do(http.MethodPost, "/reservations", `{"gpu_count":1,"user":"a","duration":"1h","start":"2020-01-01T00:00:00Z"}`).Problem(http.StatusConflict, "conflict")
	for body, field := range map[string]string{`{"percent":101}`: "percent", `{"per_user":0}`: "per_user", `{"ahead":"1m"}`: "ahead", `{"longest":1}`: "longest"} {
		s.Do(http.MethodPut, "/reservations/limits", body).About(field)
	}
}
