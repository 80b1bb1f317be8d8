package bundle

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
)

// versions is the part with the version of this program.
func versions() Part {
	return Part{Name: "version.txt", What: "this program", Collect: func(context.Context) (string, error) {
		text := fmt.Sprintf("berth %s\n%s %s/%s\n", build.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		if info, known := debug.ReadBuildInfo(); known {
			for _, s := range info.Settings {
				if strings.HasPrefix(s.Key, "vcs") || strings.HasPrefix(s.Key, "CGO_ENABLED") || s.Key == "-tags" {
					text += s.Key + "=" + s.Value + "\n"
				}
			}
		}
		return text, nil
	}}
}

// clusterParts returns what the cluster shows of itself. None of these paths answers with what users run.
func clusterParts(c *cli.Connection) (out []Part) {
	for _, v := range []struct{ name, path, what string }{
		{"healthz.json", "/healthz", "the peer that answers"},
		{"readyz.json", "/readyz", "whether the peer is ready, or why not"},
		{"peers.json", "/cluster/peers", "the peers"},
		{"nodes.json", "/nodes", "the nodes and their GPUs"},
		{"upgrade.json", "/cluster/upgrade", "versions of all members, and the feature level"},
		{"rotation.json", "/cluster/rotation", "the replacement of keys and certificates"},
		{"certificates.json", "/cluster/certificates", "names and dates of the members' certificates"},
		{"orchestrator.json", "/orchestrator/status", "the scheduler"},
		{"statistics.json", "/queue/statistics", "counts of jobs"},
		{"settings.json", "/cluster/settings", "settings of the whole cluster"},
		{"metrics.txt", "/metrics", "metrics of the peer that answers"},
	} {
		out = append(out, Part{Name: "cluster/" + v.name, What: v.what, Collect: func(ctx context.Context) (string, error) {
			to, err := c.Target()
			if err != nil {
				return "", err
			}
			return to.Get(ctx, v.path)
		}})
	}
	return out
}
