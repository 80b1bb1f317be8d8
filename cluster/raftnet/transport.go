package raftnet

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	// busyAfter is how long a heartbeat waits for raft's main goroutine before it is answered in its place.
	busyAfter = 20 * time.Millisecond
	// inPlaceLimit is how long after the main goroutine's last own acknowledgement that goes on. A peer whose
	// disk hangs for longer is of no use to its leader, which must notice.
	inPlaceLimit = 10 * time.Second

	defaultTimeout = 2 * time.Second
	connsPerPeer   = 3 // kept open to each peer: heartbeats, replication, votes
)

// TransportConfig tunes a Transport; its zero value is ready for use.
type TransportConfig struct {
	Timeout   time.Duration // of an exchange, of 256 KiB of a snapshot, of silence within one; 0: two seconds
	Logger    hclog.Logger  // nil: nothing is logged
	Folders   Folders       // of the cluster's peers; nil: messages are taken from every sender
	Unguarded Unguarded

	CheckEntry func(*raft.Log) error // returns what is wrong with an entry that another peer sends; nil: no check
}

// Unguarded disables single guards. It is for tests that show the hazard behind each guard, and for nothing
// else: with FastHeartbeats committed entries can be lost.
type Unguarded struct {
	FastHeartbeats bool // handle heartbeats on the connection's goroutine, as raft.NetworkTransport does
	NoBusyAnswers  bool // leave heartbeats unanswered while raft's main goroutine is busy
	Pipelining     bool // replicate through raft's pipeline
	Chatty         bool // send a follower at rest the same empty request after each CommitTimeout
}

// Transport carries Raft's messages. It is raft.NetworkTransport except for these points:
//
//   - Heartbeats go through raft's main goroutine like everything else. raft.NetworkTransport hands them to raft on
//     the connection's goroutine, where they change term and role behind the main goroutine's back, and committed
//     entries diverge (hashicorp/raft#695).
//   - A main goroutine that waits for its disk would then miss heartbeats, and a stall of two followers would cost
//     the leader its leadership. So the Transport answers heartbeats in place of one that has been busy for 20 ms,
//     under the conditions below and for ten seconds at most.
//   - Replication is not pipelined: after a follower refuses entries once, raft's pipeline can wait on itself for
//     ever while heartbeats go on, and the follower gets nothing until the leader restarts (hashicorp/raft#612).
//   - An empty replication request that repeats one acknowledged a moment ago is answered without the network (see
//     idle), and followers are told of a commit as soon as it is clear that no entries tell them (see commits).
//   - Messages that would end the process of a peer that reads them are refused: nil entries, entries out of place,
//     configurations that cannot be decoded.
//   - A snapshot whose sender falls silent is given up after Timeout: raft's main goroutine reads it from the
//     connection and would be held, unable to vote, until the system notices that the sender is gone.
//   - A message counts as that of the peer that has proven its id at the other side of the stream: a message that
//     names another sender is refused, and so is an answer of another peer than the one that was asked.
//   - Messages name the data folders of sender and receiver, and are refused where these are not the known ones.
//   - Close also closes the connections that were accepted.
//
// # Why answering in place is sound
//
// The answer to a heartbeat is "I know you as the leader of term T and have not turned to a later one". The
// Transport repeats it, word for word, only if the main goroutine itself has given that answer to the same leader
// (id and address) in the same term, and if since then this peer has neither answered anything with a higher term,
// granted a vote or pre-vote, been asked to stand for election, nor sent any request (only candidates and leaders
// send). The repetition changes nothing in raft: not the term, the role, the vote, the log, nor the time of the
// last contact.
//
// Election safety and log matching rest on terms, votes and entries, on none of which a repeated answer has any
// effect; on the leader's side an answered heartbeat only marks contact and counts for VerifyLeader.
//
// Leader lease. A leader of T that counts this peer as in contact is right in this sense: when the answer was
// decided, no vote of this peer for a later term had left it. A vote that the main goroutine is just writing to
// disk does not count yet: the relay notes it under the same lock before it passes it on, so each repeated answer
// is ordered before or after the release of each vote, and none after a vote confirms the old term. A later leader
// needs a majority of released votes, so at the moment of a repeated answer it was not yet elected with this peer's
// help. Which is what an answer from the main goroutine would have meant, too, but for one thing: the repeated
// answer does not renew this peer's own election timeout, so it may stand for election or vote sooner after it than
// after one of its own. Two leaders of different terms may then overlap for up to one lease, of which the older
// cannot commit. So the lease must not serve reads, nor must VerifyLeader; raft promises neither under pauses. (A
// sole voter elects itself without asking others; it has no heartbeats to answer unless it was a follower before,
// and the same restriction covers that.)
//
// Leadership transfer. A peer that is asked to stand first answers that it will (the answer to TimeoutNow), then
// asks for votes; both end the repeating. A peer asked for its vote in a transfer votes although it knows a leader;
// granting it ends the repeating, and raises the term below which nothing is repeated again, so an acknowledgement
// of the old term that is noted late cannot revive it.
//
// Order. The relay hands the main goroutine one request at a time, so what it notes is what the main goroutine did,
// in that order. A heartbeat answered in place is dropped if the main goroutine had not taken it, for a late one
// would count as fresh contact with a leader perhaps long gone; one already taken is finished and its answer
// discarded.
type Transport struct {
	inlets    *inlets
	inner     *raft.NetworkTransport // sends
	relay     *relay
	book      *book
	idle      idle
	commits   commits
	followed  followed
	unguarded Unguarded
	folders   Folders
	once      sync.Once
}

// The interfaces that raft looks for; without WithPreVote it turns pre-votes off.
var (
	_ raft.Transport   = (*Transport)(nil)
	_ raft.WithPreVote = (*Transport)(nil)
	_ raft.WithClose   = (*Transport)(nil)
)

// NewTransport starts a transport over a stream layer, which it owns from now on.
func NewTransport(layer StreamLayer, config TransportConfig) *Transport {
	if config.Logger == nil {
		config.Logger = hclog.NewNullLogger()
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	limits := relayLimits{inPlace: inPlaceLimit, patience: config.Timeout}
	if config.Unguarded.NoBusyAnswers {
		limits.inPlace = 0
	}
	inlets := newInlets(layer, raft.NetworkTransportConfig{Logger: config.Logger, MaxPool: connsPerPeer, Timeout: config.Timeout})
	if config.Unguarded.FastHeartbeats {
		config.Folders = nil // what Raft takes off the connection itself must not be stamped
	}
	book := &book{}
	t := &Transport{
		inlets: inlets, inner: inlets.main.NetworkTransport, book: book,
		relay:     newRelay(inlets.out, book, limits, checks{config.Folders, config.CheckEntry}),
		unguarded: config.Unguarded, folders: config.Folders,
	}
	go t.relay.run()
	return t
}

// BusyAnswers returns the number of heartbeats that were answered in place of a busy main goroutine.
func (t *Transport) BusyAnswers() uint64 { return t.relay.counts.inPlace.Load() }

// Malformed returns the number of messages of other peers that were refused because no sound peer sends them.
func (t *Transport) Malformed() uint64 { return t.relay.counts.malformed.Load() }

// Refused returns the number of messages that were refused for the data folder of their sender or receiver.
func (t *Transport) Refused() uint64 { return t.relay.counts.refused.Load() }

// Consumer returns the channel from which raft's main goroutine takes requests.
func (t *Transport) Consumer() <-chan raft.RPC { return t.relay.out }

// LocalAddr returns the advertised address of this peer.
func (t *Transport) LocalAddr() raft.ServerAddress { return t.inner.LocalAddr() }

// SetHeartbeatHandler does nothing: heartbeats take the way of all requests.
func (t *Transport) SetHeartbeatHandler(handle func(raft.RPC)) {
	if t.unguarded.FastHeartbeats {
		t.inlets.handleHeartbeats(handle)
	}
}

// AppendEntriesPipeline returns an error, since there is no pipeline; raft then replicates by AppendEntries.
func (t *Transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	if t.unguarded.Pipelining {
		return t.inner.AppendEntriesPipeline(id, streamTo(id, target))
	}
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries sends entries or a heartbeat to a follower.
func (t *Transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	t.book.campaign(args.Term)
	t.commits.sends(id, args)
	err := t.appendEntries(id, target, args, resp)
	t.tellSoon(t.commits.answered(id, target, args, err == nil && resp.Success && resp.Term == args.Term))
	return err
}

func (t *Transport) appendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	said, empty := repetitionOf(target, args)
	q := *args
	q.RPCHeader = stamp(t.folders, q.RPCHeader, id)
	if !empty || t.unguarded.Chatty {
		err := t.inner.AppendEntries(id, streamTo(id, target), &q, resp)
		if err == nil {
			t.followed.note(id, args, resp)
		}
		return err
	}
	sent := time.Now()
	if known, recent := t.idle.answer(id, said, sent); recent {
		*resp = known
		t.idle.saved.Add(1)
		return nil
	}
	if err := t.inner.AppendEntries(id, streamTo(id, target), &q, resp); err != nil {
		t.idle.forget(id)
		return err
	}
	t.followed.note(id, args, resp)
	t.idle.note(id, said, sent, resp)
	return nil
}

// RequestVote asks a peer for its vote.
func (t *Transport) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse,
) error {
	t.book.campaign(args.Term)
	q := *args
	q.RPCHeader = stamp(t.folders, q.RPCHeader, id)
	return t.inner.RequestVote(id, streamTo(id, target), &q, resp)
}

// RequestPreVote asks a peer whether it would vote for this one. The term is not taken yet, so it voids
// nothing that may come later.
func (t *Transport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse,
) error {
	t.book.campaign(0)
	q := *args
	q.RPCHeader = stamp(t.folders, q.RPCHeader, id)
	return t.inner.RequestPreVote(id, streamTo(id, target), &q, resp)
}

// InstallSnapshot streams a snapshot to a follower.
func (t *Transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader,
) error {
	t.book.campaign(args.Term)
	q := *args
	q.RPCHeader = stamp(t.folders, q.RPCHeader, id)
	return t.inner.InstallSnapshot(id, streamTo(id, target), &q, resp, data)
}

// TimeoutNow asks a follower to stand for election at once.
func (t *Transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse,
) error {
	t.book.campaign(0)
	q := *args
	q.RPCHeader = stamp(t.folders, q.RPCHeader, id)
	return t.inner.TimeoutNow(id, streamTo(id, target), &q, resp)
}

// EncodePeer returns a peer's address on the wire.
func (t *Transport) EncodePeer(id raft.ServerID, address raft.ServerAddress) []byte {
	return t.inner.EncodePeer(id, address)
}

// DecodePeer is the inverse of EncodePeer.
func (t *Transport) DecodePeer(encoded []byte) raft.ServerAddress { return t.inner.DecodePeer(encoded) }

// Close ends all traffic and closes every connection of Raft's. It may be called more than once; raft does so
// when it shuts down.
func (t *Transport) Close() error {
	var err error
	t.once.Do(func() {
		err = t.inlets.Close()
		close(t.relay.stop)
		<-t.relay.stopped
	})
	return err
}
