package sim

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/berth-gpu/berth/cluster"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// pathLeaderless tells for how long a peer has heard no leader.
const pathLeaderless = "/leaderless"

const (
	askEvery    = time.Second
	askAfter    = 3 * renewEvery // without an accepted renewal, agents ask whether anybody leads
	keepAnswers = 20
	// awaySilence is for how long a majority must have heard no leader: longer than a
	// leader goes on alone or stands still without noticing it, with room for an
	// agent's host that does.
	awaySilence = 6 * time.Second
)

// leaderless is what a peer says of its leader.
type leaderless struct {
	Peer    model.PeerID
	Config  uint64
	Members []model.PeerID
	Term    uint64
	Silent  time.Duration
}

// tellLeaderless answers agents that ask whether anybody leads.
func (d *door) tellLeaderless(w http.ResponseWriter, _ *http.Request) {
	s := d.Peer.Status()
	out := leaderless{Peer: s.ID, Config: d.machine.configuration(), Term: s.Term, Silent: s.Leaderless}
	for _, m := range s.Servers {
		out.Members = append(out.Members, m.ID)
	}
	newcomer := func(p *peer) bool { return !p.settled() }
	if s.Role == cluster.RoleLeader || slices.ContainsFunc(d.machine.w.peers(), newcomer) { // who may have no vote yet
		out.Silent = 0
	}
	data, err := cbor.Marshal(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(data) // the agent hears it or asks again
}

// configuration is the log index of the newest configuration on the peer's disk.
func (p *peer) configuration() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.disk.Configuration()
}

// inquiry is what an agent knows of whether anybody leads.
type inquiry struct {
	answers []fence.Answer
	next    time.Time
	heard   time.Time // when a renewal was last accepted
}

// inquire asks every peer for how long it has heard no leader, when the agent has
// heard nothing of one for a while.
func (a *agent) inquire(now fence.Boot) {
	q := &a.inquiry
	if !a.h.w.Away || time.Since(q.heard) < askAfter || time.Now().Before(q.next) {
		return
	}
	q.next = time.Now().Add(askEvery)
	for _, address := range a.peers {
		call := func(ctx context.Context) (leaderless, error) { return a.askLeaderless(ctx, address) }
		ask(a, patience, call, func(v leaderless) { a.learn(now, &v) }, func() {})
	}
}

func (a *agent) askLeaderless(ctx context.Context, address string) (v leaderless, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+pathLeaderless, nil)
	if err != nil {
		return v, err
	}
	out := &http.Transport{DialContext: dialer(a.h.life.net), DisableKeepAlives: true}
	answer, err := out.RoundTrip(r)
	if err != nil {
		return v, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return v, err
	}
	return v, cbor.Unmarshal(data, &v)
}

// learn takes a peer's answer to a question sent then. If the answers show that
// nobody led, what runs may run on.
func (a *agent) learn(sent fence.Boot, v *leaderless) {
	if v.Silent == 0 {
		return // it hears a leader, which proves nothing
	}
	q := &a.inquiry
	q.answers = append(q.answers[max(0, len(q.answers)-keepAnswers+1):], fence.Answer{
		Peer: v.Peer, Config: v.Config, Members: v.Members, Term: v.Term, Sent: sent, Answered: a.h.clock.reading().Boot, Silent: v.Silent,
	})
	if at, found := fence.LeaderlessAt(q.answers, awaySilence); found {
		a.disk.run.setAway(at)
	}
}
