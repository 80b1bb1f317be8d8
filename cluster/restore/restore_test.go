package restore

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cluster/raftstore"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/check"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/trust"
)

// backedUp returns a backup of a cluster of three peers with a job that runs, and the keys of the cluster.
func backedUp(t *testing.T) (*backup.Backup, *trust.Material) {
	t.Helper()
	c := statetest.New(t)
	c.Node("n1", 4).Register()
	for _, id := range []model.PeerID{"p1", "p2", "p3"} {
		c.Do(&command.SetPeer{Peer: model.Peer{ID: id, RaftAddress: string(id) + ":7000", Level: 1, Folder: "f-" + string(id)}})
	}
	a := c.Place(c.Submit(2))
	c.Start(a)
	c.Submit(1)
	own, err := trust.Found(trust.Member{Name: "p1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	source := &backup.Source{
		State: &c.State, Peer: "p1", Now: time.Now(), Cluster: trust.ClusterOf(own.Authorities[0]), Trust: own,
		Secrets: own.Secrets(),
	}
	if err := backup.Write(&file, source, &backup.Seal{}); err != nil {
		t.Fatal(err)
	}
	b, err := backup.Read(&file, "")
	if err != nil {
		t.Fatal(err)
	}
	return b, own
}

func optionsIn(dir string) *Options {
	return &Options{Data: dir, Member: trust.Member{Name: "p9"}, Address: "10.0.0.9:7000", Now: time.Now(), Log: slog.New(slog.DiscardHandler)}
}

// What a restored peer begins with: all rows of the backup, in a standstill, in another incarnation, without the former
// peers, at a place of the log that was never used.
func TestARestoredPeer(t *testing.T) {
	t.Parallel()
	b, own := backedUp(t)
	o := optionsIn(t.TempDir())
	plan, err := Prepare(b, own.Secrets(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Write(o); err != nil {
		t.Fatal(err)
	}
	store, err := raftstore.Open(raftstore.Options{Dir: o.Data, PeerID: "p9", ClusterID: b.Description.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	list, err := store.Snapshots().List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if s := list[0].Configuration.Servers; len(s) != 1 || s[0].ID != "p9" || s[0].Address != "10.0.0.9:7000" || s[0].Suffrage != raft.Voter {
		t.Errorf("the members are %v", s)
	}
	_, body, err := store.Snapshots().Open(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	s, err := snapshot.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	checkRestored(t, &b.State, &s)
	if term, err := store.Stable().GetUint64([]byte("CurrentTerm")); err != nil || term != s.Term {
		t.Errorf("the term is %d, %v, that of the state %d", term, err, s.Term)
	}
	if i, err := plan.Trust.Identity(); err != nil || i.Name != "p9" || i.Generation != 2 || i.Cluster != b.Description.Cluster ||
		i.Role != trust.RolePeer {
		t.Errorf("the peer is %+v, %v", i, err)
	}
}

func checkRestored(t *testing.T, before, s *state.State) {
	t.Helper()
	was, set := before.Settings(), s.Settings()
	switch {
	case !set.Standstill, set.Incarnation == was.Incarnation:
		t.Errorf("standstill %t, incarnation %x", set.Standstill, set.Incarnation)
	case s.Index != before.Index+SkipIndex, set.NextJob != was.NextJob+state.JumpAfterRestore:
		t.Errorf("index %d after %d, next job %d after %d", s.Index, before.Index, set.NextJob, was.NextJob)
	case s.Peers.Len() != 0, s.Jobs.Len() != before.Jobs.Len(), s.Attempts.Len() != before.Attempts.Len():
		t.Errorf("%d peers, %d jobs, %d attempts", s.Peers.Len(), s.Jobs.Len(), s.Attempts.Len())
	}
	n, _ := s.Nodes.Get("n1")
	if old, _ := before.Nodes.Get("n1"); n.Epoch != old.Epoch+state.JumpAfterRestore || n.Status != model.NodeSuspect {
		t.Errorf("the node is %+v", n)
	}
	if err := check.State(s); err != nil {
		t.Error(err)
	}
}

// What cannot be restored is refused before anything is written.
func TestWhatCannotBeRestored(t *testing.T) {
	t.Parallel()
	b, own := backedUp(t)
	_, other := backedUp(t)
	for name, c := range map[string]struct {
		secrets *trust.Secrets
		change  func(*Options)
		want    string
	}{
		"keys of another cluster": {other.Secrets(), func(*Options) {}, "is not among the keys"},
		"no keys":                 {&trust.Secrets{}, func(*Options) {}, "is not among the keys"},
		"an old generation":       {own.Secrets(), func(o *Options) { o.Generation = 1 }, "generation 1 does not follow generation 1"},
		"no name":                 {own.Secrets(), func(o *Options) { o.Member.Name = "" }, "name"},
	} {
		o := optionsIn("")
		c.change(o)
		if _, err := Prepare(b, c.secrets, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The archive moves into the folder, with a record of the restore.
func TestTheArchiveIsRestored(t *testing.T) {
	t.Parallel()
	b, own := backedUp(t)
	o := optionsIn(t.TempDir())
	plan, err := Prepare(b, own.Secrets(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Write(o); err != nil {
		t.Fatal(err)
	}
	head, was := plan.State.Settings().Audit, b.State.Settings().Audit
	verdict, err := archive.Check(t.Context(), filepath.Join(o.Data, "archive", "archive.db"), raftstore.VerifyBolt, head)
	// One record of the restore, and one for each peer that was removed; those before were in no archive.
	if err != nil || verdict.Records != 4 || verdict.Missing != was.Seq || verdict.What != "" {
		t.Errorf("%+v up to record %d, %v", verdict, head.Seq, err)
	}
}
