package main

import (
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/httpapi"
	"github.com/berth-gpu/berth/httpapi/workload"
)

// adviceFlags say what the analysis of workloads goes by, as they were given.
type adviceFlags struct{ defaults, deepagents, graph string }

// advice is the same as the API takes it.
type advice struct {
	defaults workload.Defaults
	advisers []httpapi.Adviser
}

func (f *adviceFlags) bind(to *pflag.FlagSet) {
	to.StringVar(&f.defaults, "workload-defaults", "", "YAML `file` with what is taken for workloads of which nothing is known; see docs/workload.md; the same at all peers")
	to.StringVar(&f.deepagents, "deepagents-url", "", "`URL` of a service that is asked about workloads, too (default: $DEEPAGENTS_URL, else none)")
	to.StringVar(&f.graph, "graph-service-url", "", "`URL` of another one (default: $GRAPH_SERVICE_URL, else none)")
}

// resolve reads the file and checks the addresses.
func (f *adviceFlags) resolve(getenv func(string) string) (advice, error) {
	out := advice{defaults: workload.StandardDefaults()}
	if f.defaults != "" {
		data, err := os.ReadFile(f.defaults)
		if err != nil {
			return out, usage("--workload-defaults: %w", err)
		}
		if out.defaults, err = workload.ReadDefaults(data); err != nil {
			return out, usage("--workload-defaults: %s: %w", f.defaults, err)
		}
	}
	for _, a := range []struct{ name, flag, env, value string }{
		{"deepagents", "--deepagents-url", "DEEPAGENTS_URL", f.deepagents},
		{"graph_service", "--graph-service-url", "GRAPH_SERVICE_URL", f.graph},
	} {
		from := a.flag
		if a.value == "" {
			from, a.value = a.env, getenv(a.env)
		}
		if a.value == "" {
			continue
		}
		u, err := url.Parse(a.value)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return out, usage("%s must be an address such as http://advisor:9004, without user, query and fragment", from)
		}
		out.advisers = append(out.advisers, httpapi.Adviser{Name: a.name, URL: a.value})
	}
	return out, nil
}
