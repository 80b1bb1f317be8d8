package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// snapshotLimit bounds the time of the answer with a whole cluster.
const snapshotLimit = 2 * time.Minute

// Snapshots exports a cluster as state files, and imports such files into an empty one.
type Snapshots struct{ client *Client }

// SnapshotsOf returns the calls about state files.
func SnapshotsOf(c *Client) Snapshots { return Snapshots{c} }

// Export returns the cluster at one place of its log, with all that was acknowledged before.
func (s Snapshots) Export(ctx context.Context) (*wire.Snapshot, error) {
	out := &wire.Snapshot{}
	_, err := s.client.calls.json(ctx, &request{method: http.MethodGet, path: "/snapshot", wait: snapshotLimit}, out)
	return out, err
}

// Begin opens an empty cluster for an import, or continues one; dry only checks whether that is
// allowed.
func (s Snapshots) Begin(ctx context.Context, body *wire.BeginImport, dry bool) (*wire.Imported, error) {
	return s.step(ctx, "", body, dry)
}

// Jobs imports one part of the jobs; dry only checks whether they are allowed.
func (s Snapshots) Jobs(ctx context.Context, body *wire.ImportJobs, dry bool) (*wire.Imported, error) {
	return s.step(ctx, "/jobs", body, dry)
}

// Settings imports settings, users and quotas; dry only checks whether they are allowed.
func (s Snapshots) Settings(ctx context.Context, body *wire.ImportSettings, dry bool) (*wire.Imported, error) {
	return s.step(ctx, "/settings", body, dry)
}

// End lets what was imported start.
func (s Snapshots) End(ctx context.Context, body *wire.EndImport) (*wire.Imported, error) {
	return s.step(ctx, "/end", body, false)
}

func (s Snapshots) step(ctx context.Context, path string, body any, dry bool) (*wire.Imported, error) {
	q := &request{method: http.MethodPost, path: "/snapshot/import" + path}
	if dry {
		q.query = url.Values{"dry_run": {"true"}}
	}
	out := &wire.Imported{}
	return out, s.client.calls.change(ctx, q, body, out)
}
