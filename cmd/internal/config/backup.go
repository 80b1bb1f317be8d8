package config

import "time"

// Backup holds the settings of backups that a peer makes.
type Backup struct {
	Dir        string // empty: none are made
	Every      time.Duration
	Keep       int      // files
	Recipients []string // of age; none: backups hold no keys
}

func (b *Backup) settings() []Setting {
	return []Setting{
		{
			Name: "backup.dir", For: OfServer, Flag: "backup-dir",
			Means: "absolute `folder` for backups of the cluster, on another disk or shared by all peers; empty: this peer makes none", Value: Text(&b.Dir, "folder"),
		},
		{
			Name: "backup.every", For: OfServer, Flag: "backup-every",
			Means: "`time` after which the newest backup in the folder is followed by another", Value: Span(&b.Every, time.Minute, 31*24*time.Hour, false),
		},
		{
			Name: "backup.keep", For: OfServer, Flag: "backup-keep",
			Means: "`number` of backups of this cluster that are kept in the folder", Value: Number(&b.Keep, "files", 1, 100_000),
		},
		{
			Name: "backup.recipients", For: OfServer, Flag: "backup-recipients",
			Means: "`recipients` of age (age1...,...) that can open the keys of the cluster in backups; none: backups hold no keys, and a restore needs the folder trust of a peer",
			Value: List(&b.Recipients, "recipients"),
		},
	}
}
