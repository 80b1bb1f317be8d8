package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	identityName   = "peer.json"
	identityFormat = 1
)

// Identity says whose a data folder is.
type Identity struct {
	// Format is the version of the folder's layout; this build knows 1.
	Format int `json:"format"`
	// PeerID is the peer's name in the cluster. It never changes.
	PeerID string `json:"peer_id"`
	// ClusterID names the cluster: 128 random bits in hex, made at bootstrap
	// or learnt on joining; empty until then. Once written it never changes.
	ClusterID string `json:"cluster_id,omitempty"`
}

// NewID returns 128 random bits in hex, fit for a peer or a cluster.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// readIdentity reads the folder's identity file. It returns an error that is
// os.ErrNotExist for a folder that has none.
func readIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, identityName)
	b, err := os.ReadFile(path) //nolint:gosec // the path is the operator's data folder
	if err != nil {
		return Identity{}, err
	}
	var id Identity
	if err := json.Unmarshal(b, &id); err != nil {
		return Identity{}, corrupt(path, "the identity file is not whole JSON", err)
	}
	if id.Format > identityFormat {
		return Identity{}, &Fault{
			Kind: ErrForeign, Path: path,
			What: fmt.Sprintf("the folder has format %d, this version knows up to %d", id.Format, identityFormat),
			Do:   "start it with the newer version that wrote it",
		}
	}
	if id.Format < 1 || id.PeerID == "" {
		return Identity{}, corrupt(path, "the identity file names no peer", nil)
	}
	return id, nil
}

// writeIdentity makes id the folder's identity, durably.
func writeIdentity(dir string, id Identity) error {
	b, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	if err := writeDurable(dir, identityName, append(b, '\n')); err != nil {
		return unusable(dir, "cannot write its identity file", err)
	}
	return nil
}

// claim returns the identity that the folder has or is to have, and whether it
// is new. It refuses a folder that belongs to another peer or cluster than the
// caller asked for; an empty wish accepts what is there.
func claim(dir, peerID, clusterID string) (id Identity, fresh bool, err error) {
	id, err = readIdentity(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if peerID == "" {
			peerID = NewID()
		}
		return Identity{Format: identityFormat, PeerID: peerID, ClusterID: clusterID}, true, nil
	case err != nil && isFault(err):
		return Identity{}, false, err
	case err != nil:
		return Identity{}, false, unusable(dir, "cannot read its identity file", err)
	case peerID != "" && id.PeerID != peerID:
		return Identity{}, false, foreign(dir, "peer", id.PeerID, peerID)
	case clusterID != "" && id.ClusterID != "" && id.ClusterID != clusterID:
		return Identity{}, false, foreign(dir, "cluster", id.ClusterID, clusterID)
	}
	return id, false, nil
}

// foreign builds the fault of a folder that another peer or cluster owns.
func foreign(dir, noun, has, wants string) *Fault {
	return &Fault{
		Kind: ErrForeign, Path: dir,
		What: fmt.Sprintf("the folder belongs to %s %s, not to %s %s", noun, has, noun, wants),
		Do:   "give this peer its own folder (--data-dir), or move this one away to start empty",
	}
}

// isFault reports whether err already speaks to the operator.
func isFault(err error) bool {
	var f *Fault
	return errors.As(err, &f)
}
