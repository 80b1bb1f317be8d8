package backups

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-gpu/berth/cluster/backup"
)

// The metrics of a keeper.
var (
	descNewest   = prometheus.NewDesc("berth_backup_newest_timestamp_seconds", "When the newest backup in this peer's folder was made that was verified, in seconds since 1970; 0: there is none.", nil, nil)
	descInterval = prometheus.NewDesc("berth_backup_interval_seconds", "The interval at which this peer makes backups.", nil, nil)
	descFuture   = prometheus.NewDesc("berth_backup_future_files", "Backups in this peer's folder with a time in the future, which do not count.", nil, nil)
	descFailures = prometheus.NewDesc("berth_backup_failures_total", "Backups that this process could not make.", nil, nil)
)

// Metrics are the metrics of a peer that makes backups.
type Metrics struct{ Keeper *backup.Keeper }

// Describe sends the metrics' descriptions.
func (Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- descNewest
	to <- descInterval
	to <- descFuture
	to <- descFailures
}

// Collect sends the metrics.
func (m Metrics) Collect(to chan<- prometheus.Metric) {
	now := m.Keeper.Standing()
	newest := 0.0
	if !now.Newest.IsZero() {
		newest = float64(now.Newest.Unix())
	}
	to <- prometheus.MustNewConstMetric(descNewest, prometheus.GaugeValue, newest)
	to <- prometheus.MustNewConstMetric(descInterval, prometheus.GaugeValue, m.Keeper.Every.Seconds())
	to <- prometheus.MustNewConstMetric(descFuture, prometheus.GaugeValue, float64(now.Future))
	to <- prometheus.MustNewConstMetric(descFailures, prometheus.CounterValue, float64(now.Failures))
}
