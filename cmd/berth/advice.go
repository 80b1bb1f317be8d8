package main

import (
	"net/url"
	"os"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// resolveAdvice reads what the analysis of workloads goes by, and checks the addresses of
// whom it asks.
func resolveAdvice(c *config.Loaded) (out httpapi.Terms, err error) {
	s := &c.Server.Advice
	out.Workloads = workload.StandardDefaults()
	if s.Defaults != "" {
		data, err := os.ReadFile(s.Defaults)
		if err != nil {
			return out, usage("%s: %w", c.At("workloads.defaults_file"), err)
		}
		if out.Workloads, err = workload.ReadDefaults(data); err != nil {
			return out, usage("%s: %s: %w", c.At("workloads.defaults_file"), s.Defaults, err)
		}
	}
	if s.Own != "" {
		if out.Workloads, err = workload.ReadDefaults([]byte(s.Own)); err != nil {
			return out, usage("%w", c.Within(err))
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
			return out, usage("%s must be an address such as http://advisor:9004, without user, query and fragment", c.At(a.setting))
		}
		out.Advisers = append(out.Advisers, httpapi.Adviser{Name: a.name, URL: a.address})
	}
	return out, nil
}
