package apitest

import (
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/httpapi/client"
)

// Agent returns a client for the calls of agents.
func (s *Site) Agent() *client.Agent {
	s.T.Helper()
	a, err := client.NewAgent(client.Options{Addresses: []string{strings.TrimPrefix(s.URL, "http://")}})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(a.Close)
	return a
}

// Registration is what an agent of a node n1 with one GPU registers.
func Registration() *agentwire.Register {
	return &agentwire.Register{
		Node: "n1", Machine: "m1", Boot: "b1", Lineage: "l1", Session: "s1", Address: "127.0.0.1:1", Hostname: "host",
		Devices: []model.Device{{ID: "GPU-1", Model: "H100", MemoryMB: 81559, Health: model.HealthHealthy, Idle: true}},
	}
}
