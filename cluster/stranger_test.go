package cluster

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/cluster/call"
	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/raftnet"
	"github.com/berth-gpu/berth/fsm/model"
)

// caller returns a client that calls from a host of its own under a name.
func (w *world) caller(name string) *call.Client {
	host := w.net.Host("host-of-" + name)
	return call.NewClient(model.PeerID(name), func(to peer.Server, timeout time.Duration) (net.Conn, error) {
		return raftnet.DialCall(host, to, timeout)
	})
}

// Raft hears members only, each under its own address, and other calls are answered to members only.
func TestOnlyMembersAreHeard(t *testing.T) {
	inWorld(t, 3, nil, func(w *world) {
		l := w.leader()
		o := w.other(l)
		w.until("the folders are known", func() bool { return l.folders.Of(raft.ServerID(o.name)) != "" })
		folder := o.folders.Own()
		for what, v := range map[string]struct {
			sender raftnet.Sender
			want   string
		}{
			"a member":                              {raftnet.Sender{ID: raft.ServerID(o.name), Address: raft.ServerAddress(o.name + ":7000"), Folder: folder}, ""},
			"a member at another address":           {raftnet.Sender{ID: raft.ServerID(o.name), Address: "moved:7000", Folder: folder}, ""},
			"a member under the address of another": {raftnet.Sender{ID: raft.ServerID(o.name), Address: raft.ServerAddress(l.name + ":7000"), Folder: folder}, ""}, // they may have exchanged them
			"a peer that has not joined":            {raftnet.Sender{ID: "p9", Address: "p9:7000", Folder: "f9"}, "start peer p9 with --join"},
			"a peer that came meanwhile":            {raftnet.Sender{ID: "p9", Address: "p9:7000", Folder: "f9"}, "in server.join of peer " + l.name},
		} {
			_, got := l.folders.Admit(v.sender)
			if v.want == "" && got != nil || v.want != "" && (got == nil || !strings.Contains(got.Error(), v.want)) {
				t.Errorf("%s: %v, want %q", what, got, v.want)
			}
		}
		client := w.caller("p9")
		defer func() { _ = client.Close() }()
		to := peer.Server{ID: model.PeerID(l.name), Address: l.name + ":7000"}
		if _, err := call.Do(within(time.Second), client, to, callReadIndex, &struct{}{}); call.KindOf(err) != call.KindStranger ||
			!call.Undone(err) {
			t.Errorf("a call of a peer that has not joined: %v", err)
		}
		as := model.Peer{ID: model.PeerID(o.name), RaftAddress: "p9:7000", Level: o.level(), Folder: folder}
		if _, err := call.Do(within(time.Second), client, to, callJoin, &joining{Peer: as}); call.KindOf(err) != kindForeign ||
			!strings.Contains(err.Error(), "for itself only") {
			t.Errorf("peer p9 moves %s: %v", o.name, err)
		}
		if _, err := call.Do(within(time.Second), client, to, callAsk, &asking{Peer: as}); call.KindOf(err) != kindForeign {
			t.Errorf("peer p9 asks as %s: %v", o.name, err)
		}
		known := w.caller(o.name)
		defer func() { _ = known.Close() }()
		if _, err := call.Do(within(time.Second), known, to, callReadIndex, &struct{}{}); err != nil {
			t.Errorf("a call of a member: %v", err)
		}
	})
}
