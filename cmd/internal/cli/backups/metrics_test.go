package backups

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/berth-gpu/berth/cluster/backup"
)

// A peer that has made no backup yet says so: 0 is older than every interval.
func TestMetrics(t *testing.T) {
	t.Parallel()
	k := &backup.Keeper{Schedule: backup.Schedule{Every: time.Hour}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	reg := prometheus.NewRegistry()
	reg.MustRegister(Metrics{k})
	if err := testutil.GatherAndCompare(reg, strings.NewReader(`# HELP berth_backup_failures_total Backups that this process could not make.
# TYPE berth_backup_failures_total counter
berth_backup_failures_total 0
# HELP berth_backup_future_files Backups in this peer's folder with a time in the future, which do not count.
# TYPE berth_backup_future_files gauge
berth_backup_future_files 0
# HELP berth_backup_interval_seconds The interval at which this peer makes backups.
# TYPE berth_backup_interval_seconds gauge
berth_backup_interval_seconds 3600
# HELP berth_backup_newest_timestamp_seconds When the newest backup in this peer's folder was made that was verified, in seconds since 1970; 0: there is none.
# TYPE berth_backup_newest_timestamp_seconds gauge
berth_backup_newest_timestamp_seconds 0
`)); err != nil {
		t.Error(err)
	}
}
