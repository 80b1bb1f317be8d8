package cluster

import (
	"github.com/berth-gpu/berth/cluster/archive"
	"github.com/berth-gpu/berth/cluster/call"
)

// The calls between peers, besides those of the API.
var (
	callExchange  = call.Define[hello, hello](call.Control, "exchange")
	callJoin      = call.Define[joining, joined](call.Control, "join")
	callAsk       = call.Define[asking, asked](call.Control, "ask") // a founder asks another founder for an existing cluster
	callReadIndex = call.Define[struct{}, uint64](call.Control, "read_index")
	callRecords   = call.Define[archive.RecordsWanted, archive.RecordsGiven](call.Bulk, "records") // of the audit trail
	callHistories = call.Define[archive.HistoriesWanted, archive.HistoriesGiven](call.Bulk, "histories")
)

// The kinds of their errors.
const (
	kindNotLeader call.Kind = "not_leader" // the text is the address of the leader, or empty
	kindForeign   call.Kind = "foreign"    // of another cluster
	kindNoArchive call.Kind = "no_archive" // the archive cannot answer now
	kindWiped     call.Kind = "wiped"      // the peer is known with another data folder
	kindRemoved   call.Kind = "removed"    // the peer is no member any more
)

// Calls returns what answers the calls of other peers at this peer, and what makes calls at them.
func (p *Peer) Calls() (*call.Server, *call.Client) { return p.wire.server, p.wire.client }
