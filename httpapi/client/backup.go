package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"
)

// backupWait is how much longer than other answers the begin of a backup may take: the peer waits for its archive.
const backupWait = 30 * time.Second

// Backup returns a backup of the cluster, whose keys are sealed to a recipient of age; the backup has no keys if that is
// empty. The answer has any length: a reader must check that it is complete, and close it.
func (s Snapshots) Backup(ctx context.Context, recipient string) (io.ReadCloser, error) {
	v := url.Values{}
	if recipient != "" {
		v.Set("recipient", recipient)
	}
	answer, err := s.client.calls.do(ctx, &request{method: http.MethodGet, path: "/cluster/backup", query: v, media: "application/zstd", stream: true, wait: backupWait})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}
