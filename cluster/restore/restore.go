// Package restore makes the data folder of the first peer of a cluster out of a backup.
//
// The state of the backup is changed once before it is stored, by one entry as of the log: a new incarnation, nothing is
// scheduled until an operator resumes that, and the former peers are no members. So there is no moment at which a peer runs
// with the state as it was. Numbers that entries after the backup may have given are skipped: of jobs, of nodes' epochs
// ([state.JumpAfterRestore]) and of the log ([SkipIndex]).
package restore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/trust"
)

// SkipIndex is how many places of the log a restored cluster skips, so that no place means both an entry that was lost and
// a later one: clients and agents know events and placements by their places.
const SkipIndex = 1 << 20

// Options is the peer that is made.
type Options struct {
	Data       string       // folder, which exists and is empty
	Member     trust.Member // name, names and life of the certificate
	Address    string       // under which other peers reach this one
	Generation uint64       // of the restored cluster; 0: the next after that of the backup
	Now        time.Time
	Log        *slog.Logger
}

// Plan is a peer that can be made.
type Plan struct {
	Trust *trust.Material // of the peer, to be stored last: it makes a folder that of a member
	Next  *trust.Secrets  // of a rotation that was under way
	State state.State     // with which the cluster begins

	before  state.State // the backup's
	changes state.Changes
	archive string // copy of the archive; empty: none
}

// Prepare checks all that can keep a backup from being restored, and writes nothing.
func Prepare(b *backup.Backup, secrets *trust.Secrets, o *Options) (*Plan, error) {
	bundle, err := b.Description.Bundle()
	if err != nil {
		return nil, err
	}
	generation := b.Description.Generation + 1
	if o.Generation != 0 {
		generation = o.Generation
	}
	if generation <= b.Description.Generation {
		return nil, fmt.Errorf("generation %d does not follow generation %d of the backup: name a higher one", generation, b.Description.Generation)
	}
	known, err := (&trust.Material{Generation: generation}).Follow(bundle, secrets)
	if missing := (*trust.MissingError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("%s is not among the keys: they are of another cluster, or of another time", missing.What)
	}
	if err != nil {
		return nil, err
	}
	first := o.Member
	first.Role = trust.RolePeer
	own, err := known.Certify(first, o.Now)
	if err != nil {
		return nil, err
	}
	p := &Plan{Trust: own, Next: secrets.Except(own.Secrets()), before: b.State, archive: b.Archive}
	p.State, p.changes, err = begin(&b.State, o.Member.Name, model.TimeOf(o.Now))
	return p, err
}

// begin returns the state of the restored cluster, and what the entry that makes it has changed.
func begin(s *state.State, first string, now model.Time) (state.State, state.Changes, error) {
	var incarnation model.Incarnation
	_, _ = rand.Read(incarnation[:]) // never fails
	bodies := []command.Body{&command.AdvanceClock{}, &command.Restored{Incarnation: incarnation}}
	for id := range s.Peers.All() {
		bodies = append(bodies, &command.DropPeer{ID: id})
	}
	list := make([]command.Command, 0, len(bodies))
	for _, b := range bodies {
		c, err := command.New("peer:"+first, b)
		if err != nil {
			return state.State{}, state.Changes{}, err
		}
		list = append(list, c)
	}
	data, err := command.Encode(max(now, s.Settings().Clock), first, list)
	if err != nil {
		return state.State{}, state.Changes{}, err
	}
	entry, err := command.Decode(data)
	if err != nil {
		return state.State{}, state.Changes{}, err
	}
	meta := state.Meta{Index: s.Index + SkipIndex, Term: s.Term, At: entry.At, By: entry.By, Hash: entry.Hash}
	next, results, changes := apply.Apply(*s, meta, entry.Commands)
	for i := range results {
		if !results[i].OK() {
			return state.State{}, state.Changes{}, fmt.Errorf("%s is refused by the state of the backup: %s", entry.Commands[i].Kind(), results[i].Detail)
		}
	}
	return next, changes, nil
}

// Write makes the folder, but for the trust of the peer. A folder that could not be made is of no use, and harms nothing: it
// is no member's.
func (p *Plan) Write(o *Options) (err error) {
	store, err := raftstore.Open(raftstore.Options{
		Dir: o.Data, PeerID: o.Member.Name, ClusterID: trust.ClusterOf(p.Trust.Authorities[0]),
		Logger: o.Log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Stable().SetUint64([]byte("CurrentTerm"), p.State.Term); err != nil { // else the first election would begin at term 1
		return err
	}
	alone := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(o.Member.Name), Address: raft.ServerAddress(o.Address)}}}
	_, nowhere := raft.NewInmemTransport("")
	sink, err := store.Snapshots().Create(raft.SnapshotVersionMax, p.State.Index, p.State.Term, alone, p.State.Index, nowhere)
	if err != nil {
		return err
	}
	if err := snapshot.Write(&p.State, sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return err
	}
	if err := store.SetPeers(map[string]string{o.Member.Name: store.FolderID()}); err != nil {
		return err
	}
	return p.writeArchive(o)
}

// writeArchive moves the archive into place, and adds the record of the restore to the audit trail.
func (p *Plan) writeArchive(o *Options) error {
	dir := filepath.Join(o.Data, "archive")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, "archive.db")
	if p.archive != "" {
		if err := os.Rename(p.archive, path); err != nil {
			return err
		}
		if err := archive.Cut(path, p.before.Index); err != nil {
			return err
		}
	}
	a := archive.New(archive.Config{Path: path, Log: o.Log, Verify: raftstore.VerifyBolt})
	a.Note(p.before, p.changes)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	a.Run(ended, archive.World{State: func() state.State { return p.State }, Mates: func() ([]model.PeerID, bool) { return nil, true }})
	return nil
}
