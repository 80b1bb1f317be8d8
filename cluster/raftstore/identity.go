package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/files/smallfile"
)

const (
	identityName   = "peer.json"
	identityFormat = 2
)

// Identity is the owner of a data folder.
type Identity struct {
	// Format is the version of the folder's layout; this build supports 2.
	Format int `json:"format"`
	// PeerID is the peer's name in the cluster. It never changes.
	PeerID string `json:"peer_id"`
	// ClusterID names the cluster: 128 random bits in hex, made at bootstrap
	// or learnt on joining; empty until then. Once written it never changes.
	ClusterID string `json:"cluster_id,omitempty"`
	// FolderID names this folder: 128 random bits in hex, drawn when the folder is made. A peer whose folder
	// was lost and made again has another one, and is recognized by it. It never changes.
	FolderID string `json:"folder_id"`
	// Peers are the folder ids of the cluster's peers by peer id, this one's
	// included; empty until this peer has founded or joined a cluster.
	Peers map[string]string `json:"peers,omitempty"`
}

// NewID returns 128 random bits in hex, for a peer or a cluster.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// readIdentity reads the folder's identity file. It returns an error that is
// os.ErrNotExist for a folder that has none.
func readIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, identityName)
	var id Identity
	if err := smallfile.Read(path, &id); err != nil {
		if damaged, is := errors.AsType[*smallfile.DamagedError](err); is {
			return Identity{}, corrupt(path, "the identity file is damaged: "+damaged.Why, nil)
		}
		return Identity{}, err
	}
	switch {
	case id.Format > identityFormat:
		return Identity{}, &Fault{
			Kind: ErrForeign, Path: path,
			What: fmt.Sprintf("the folder has format %d, this version knows up to %d", id.Format, identityFormat),
			Do:   "start it with the newer version that wrote it",
		}
	case id.Format < identityFormat || id.PeerID == "" || id.FolderID == "":
		return Identity{}, corrupt(path, "the identity file names no peer or no folder", nil)
	}
	return id, nil
}

// writeIdentity makes id the folder's identity, durably.
func writeIdentity(dir string, id Identity) error {
	b, err := smallfile.Encode(id)
	if err != nil {
		return err
	}
	if err := writeDurable(dir, identityName, b); err != nil {
		return unusable(dir, "cannot write its identity file", err)
	}
	return nil
}

// claim returns the folder's present or future identity, and whether it is new. It refuses a folder that
// belongs to another peer or cluster than the caller asked for; an empty request accepts any.
func claim(dir, peerID, clusterID string) (id Identity, fresh bool, err error) {
	id, err = readIdentity(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if peerID == "" {
			peerID = NewID()
		}
		return Identity{Format: identityFormat, PeerID: peerID, ClusterID: clusterID, FolderID: NewID()}, true, nil
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
		Do:   "give this peer its own folder (server.data_dir, --data-dir), or move this one away to start empty",
	}
}

// isFault reports whether err is already a message for the operator.
func isFault(err error) bool {
	var f *Fault
	return errors.As(err, &f)
}

// FolderID returns the id of this data folder.
func (s *Store) FolderID() string { return s.id.get().FolderID }

// Peers returns the folder ids of the cluster's peers, by peer id, as last stored by SetPeers. The caller
// must not change the map.
func (s *Store) Peers() map[string]string { return s.id.get().Peers }

// SetPeers stores the folder ids of the cluster's peers; they are durable when it returns nil.
func (s *Store) SetPeers(peers map[string]string) error {
	return s.id.update(func(was Identity) (Identity, error) {
		if maps.Equal(was.Peers, peers) {
			return was, nil
		}
		was.Peers = maps.Clone(peers)
		return was, writeIdentity(s.opts.Dir, was)
	})
}

// programName is the file with the record of the peer's program.
const programName = "program.json"

// Program returns the record of the program; false: there is none.
func (s *Store) Program() (upgrade.Record, bool) { return s.program, s.hasProgram }

// SetProgram replaces the record, which is durable when it returns nil. It must not be called at the same time as itself or Program.
func (s *Store) SetProgram(p upgrade.Record) error {
	b, err := smallfile.Encode(p)
	if err != nil {
		return err
	}
	if err := writeDurable(s.opts.Dir, programName, b); err != nil {
		return unusable(s.opts.Dir, "cannot write its record of the program", err)
	}
	s.program, s.hasProgram = p, true
	return nil
}

// readProgram reads the record, and refuses the folder if the cluster is beyond the program. A record that is damaged or
// missing is made again; the log and the snapshots tell the level, too.
func (s *Store) readProgram() error {
	path := filepath.Join(s.opts.Dir, programName)
	switch err := smallfile.Read(path, &s.program); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case smallfile.IsDamaged(err):
		s.opts.Logger.Warn("program_record_damaged", "path", path, "err", err, "remedy", "none needed: the record is made again")
		s.program = upgrade.Record{}
		return nil
	case err != nil:
		return unusable(s.opts.Dir, "cannot read its record of the program", err)
	}
	s.hasProgram = true
	if s.opts.Level > 0 && s.program.Cluster > s.opts.Level {
		return &Fault{
			Kind: ErrForeign, Path: s.opts.Dir,
			What: fmt.Sprintf("the cluster is at feature level %d, and this program knows levels up to %d; nothing was changed", s.program.Cluster, s.opts.Level),
			Do:   "install the version that the other peers run (berth peers), or a newer one: there is no way back to an older one once the level was raised",
		}
	}
	return nil
}
