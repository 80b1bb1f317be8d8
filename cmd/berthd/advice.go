package main

import (
	"net/url"
	"os"

	"github.com/berth-gpu/berth/httpapi/advice"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// advice reads the settings for the analysis of workloads, and checks the addresses of the services
// that the analysis asks.
func (h *holding) advice(out *core.Terms) {
	s := &h.Server.Advice
	out.Workloads = workload.StandardDefaults()
	if s.Defaults != "" {
		data, err := os.ReadFile(s.Defaults)
		if err != nil {
			h.refuse("%s: %w", h.At("workloads.defaults_file"), err)
		} else if out.Workloads, err = workload.ReadDefaults(data); err != nil {
			h.refuseEach(err, "%s: %s: %w", h.At("workloads.defaults_file"), s.Defaults)
		}
	}
	if s.Own != "" {
		var err error
		if out.Workloads, err = workload.ReadDefaults([]byte(s.Own)); err != nil {
			h.refuseEach(h.Within(err), "%w")
		}
	}
	for _, a := range []struct{ name, setting, address string }{
		{"deepagents", "services.deepagents_url", s.Deepagents},
		{"graph_service", "services.graph_service_url", s.Graph},
	} {
		if a.address == "" {
			continue
		}
		u, err := url.Parse(a.address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			h.refuse("%s must be an address such as http://advisor:9004, without user, query and fragment", h.At(a.setting))
		}
		out.Advisers = append(out.Advisers, advice.Adviser{Name: a.name, URL: a.address})
	}
}
