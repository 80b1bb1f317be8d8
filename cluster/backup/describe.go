package backup

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// Format is the version of the form of backups that this program writes, and the newest that it reads.
const Format = 1

// Names of the parts of a backup.
const (
	partDescription = "backup.json"
	partState       = "state"
	partArchive     = "archive.db"
	partKeys        = "keys.age"
	partSums        = "SHA256SUMS"
)

// MaxDescription bounds the description of a backup, in bytes.
const MaxDescription = 256 << 10

// Description is what a backup says of itself. Nothing in it is secret.
type Description struct {
	Format      int       `json:"format"`
	Cluster     string    `json:"cluster"`        // id of the cluster
	Name        string    `json:"name,omitempty"` // of the cluster, for display
	Generation  uint64    `json:"generation"`     // of the cluster, see package trust
	Peer        string    `json:"peer"`           // that has written the backup
	Version     string    `json:"version"`        // of the program of that peer
	Made        time.Time `json:"made"`           // by the clock of that peer
	Level       uint32    `json:"feature_level"`
	Incarnation string    `json:"incarnation"`
	Index       uint64    `json:"index"` // of the last entry of the log that the state holds
	Term        uint64    `json:"term"`
	Digest      string    `json:"digest"` // of the state

	Jobs  int `json:"jobs"`
	Nodes int `json:"nodes"`
	GPUs  int `json:"gpus"`

	// ArchivedTo is the index of the log up to which the archive is complete; 0: the backup has no archive.
	ArchivedTo uint64 `json:"archived_to,omitempty"`

	// What the cluster trusts: certificates in PEM, the authority that signs first.
	Revision    uint64 `json:"trust_revision"`
	Authorities string `json:"authorities"`
	Link        string `json:"authority_link,omitempty"`

	// Keys are the recipients that can open the keys of the cluster in the backup, or [Passphrase]; empty: the backup has
	// no keys.
	Keys []string `json:"keys_for,omitempty"`

	text []byte // as it was read; nil: this program has made it
}

// Passphrase stands in [Description.Keys] in place of recipients.
const Passphrase = "passphrase"

// Bundle returns what the cluster trusts.
func (d *Description) Bundle() (*trust.Bundle, error) {
	list, err := trust.DecodeCertificates([]byte(d.Authorities), trust.MaxAuthorities)
	if err != nil {
		return nil, fmt.Errorf("its certificates of authorities: %w", err)
	}
	b := &trust.Bundle{Revision: d.Revision, Authorities: list}
	if d.Link == "" {
		return b, nil
	}
	links, err := trust.DecodeCertificates([]byte(d.Link), 1)
	if err != nil {
		return nil, fmt.Errorf("its link of authorities: %w", err)
	}
	b.Link = links[0]
	return b, nil
}

// setBundle describes what a material trusts.
func (d *Description) setBundle(m *trust.Material) {
	d.Revision, d.Generation = m.Revision, m.Generation
	d.Authorities = string(trust.EncodeCertificates(m.Authorities...))
	if m.Link != nil {
		d.Link = string(trust.EncodeCertificates(m.Link))
	}
}

// Pin returns the hash of the authority's key, in hexadecimal digits.
func (d *Description) Pin() (string, error) {
	b, err := d.Bundle()
	if err != nil {
		return "", err
	}
	pin := trust.PinOf(b.Authorities[0])
	return fmt.Sprintf("%x", pin[:]), nil
}

// parseDescription reads and checks a description.
func parseDescription(text []byte) (*Description, error) {
	var form struct {
		Format  int    `json:"format"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, damaged("%s is no description of a backup: %v", partDescription, err)
	}
	if form.Format > Format {
		return nil, &NewerError{fmt.Sprintf("the backup has format %d, written by version %.100q, and this program knows up to %d", form.Format, form.Version, Format)}
	}
	d := &Description{text: text}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, damaged("%s: %v", partDescription, err)
	}
	b, err := d.Bundle()
	switch {
	case d.Format < 1, d.Cluster == "", d.Generation == 0, d.Index == 0, d.Incarnation == "", d.Digest == "":
		return nil, damaged("%s names no cluster, generation, index, incarnation or digest", partDescription)
	case err != nil:
		return nil, damaged("%s: %v", partDescription, err)
	}
	return d, checkCluster(b.Authorities[0], d.Cluster)
}

// checkCluster returns an error unless an authority is that of a cluster.
func checkCluster(authority *x509.Certificate, cluster string) error {
	if own := trust.ClusterOf(authority); own != cluster {
		return damaged("%s is of cluster %s, and its authority of cluster %.100q", partDescription, cluster, own)
	}
	return nil
}

// ErrDamaged means that a file is not, or no longer, what was written.
var ErrDamaged = errors.New("the backup is damaged or incomplete: take another")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// NewerError means that a newer program has written a backup.
type NewerError struct{ What string }

// Error returns what is newer, and the remedy.
func (e *NewerError) Error() string {
	return e.What + ": install the version that wrote the backup, or a later one"
}
