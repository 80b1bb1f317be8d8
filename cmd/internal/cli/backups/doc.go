// Package backups holds the commands about backups of a cluster: berth backup.
package backups
