package cluster

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/berth-gpu/berth/cluster/peer"
	"github.com/berth-gpu/berth/cluster/upgrade"
	"github.com/berth-gpu/berth/fsm"
	"github.com/berth-gpu/berth/fsm/model"
)

// mates holds the other peers' last reports, and the alarms that follow from them.
type mates struct {
	changed chan struct{} // receives after a member has come, gone or changed its description

	mu       sync.Mutex
	name     string // of the cluster, learnt by joining
	heard    map[model.PeerID]heard
	joining  map[model.PeerID]model.Peer // being taken in by this peer
	founders map[model.PeerID]uint32     // the levels of founders that have answered this one
	full     bool
	diverged bool
	refused  bool // raft refuses commands because of a transfer
}

// heard is one peer's last report.
type heard struct {
	hello hello
	at    time.Duration // by this peer's CLOCK_BOOTTIME
	ahead time.Duration // its wall clock less ours
	stuck time.Duration // since when it has lacked entries and got none, by the same clock; 0: it does not
}

// hello is the report that two peers send each other in an exchange.
type hello struct {
	Cluster string     `cbor:"1,keyasint,omitempty"`
	Peer    model.Peer `cbor:"2,keyasint"`
	Wall    model.Time `cbor:"3,keyasint,omitempty"`
	Term    uint64     `cbor:"4,keyasint,omitempty"`
	Last    uint64     `cbor:"5,keyasint,omitempty"` // newest entry in its log
	Applied uint64     `cbor:"6,keyasint,omitempty"`
	Marks   []fsm.Mark `cbor:"7,keyasint,omitempty"`

	Archived uint64 `cbor:"9,keyasint,omitempty"` // log index up to which its archive lacks nothing

	Program *upgrade.Report `cbor:"10,keyasint,omitempty"` // nil: it is not known yet

	Folders map[string]string `cbor:"11,keyasint,omitempty"` // of the members, by peer id; for one that lags behind
}

// fresh is how long a peer's report counts.
const fresh = 5 * time.Second

func newMates() *mates {
	return &mates{
		heard: map[model.PeerID]heard{}, joining: map[model.PeerID]model.Peer{}, founders: map[model.PeerID]uint32{},
		changed: make(chan struct{}, 1),
	}
}

func (m *mates) poke() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// note stores a peer's report. ours is the newest entry that this peer had when it asked.
func (m *mates) note(h hello, ours uint64, now, ahead time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := heard{hello: h, at: now, ahead: ahead}
	old := m.heard[h.Peer.ID]
	if h.Last < ours {
		v.stuck = now
		if old.stuck > 0 && old.hello.Last == h.Last {
			v.stuck = old.stuck
		}
	}
	if old.hello.Peer != h.Peer {
		m.poke()
	}
	m.heard[h.Peer.ID] = v
}

// of returns the fresh reports of the given peers.
func (m *mates) of(peers []peer.Server, now time.Duration) (out []heard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range peers {
		if v, known := m.heard[s.ID]; known && now-v.at <= fresh {
			out = append(out, v)
		}
	}
	return out
}

// furthest returns the greatest index of a state that a peer has reported lately.
func (m *mates) furthest(now time.Duration) (index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.heard { // order-free
		if now-v.at <= fresh {
			index = max(index, v.hello.Applied)
		}
	}
	return index
}

func (m *mates) cluster(configured string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if configured != "" {
		return configured
	}
	return m.name
}

func (m *mates) setCluster(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name = name
}

// set changes an alarm and reports whether that made a difference.
func (m *mates) set(alarm *bool, on bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := *alarm != on
	*alarm = on
	return changed
}

func (m *mates) get(alarm *bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *alarm
}

func (m *mates) setLow(on bool) bool   { return m.set(&m.full, on) }
func (m *mates) low() bool             { return m.get(&m.full) }
func (m *mates) setSplit(on bool) bool { return m.set(&m.diverged, on) }
func (m *mates) split() bool           { return m.get(&m.diverged) }
func (m *mates) setRefusing(on bool)   { m.set(&m.refused, on) }
func (m *mates) refusing() bool        { return m.get(&m.refused) }

// noteFounder stores the level of another founder.
func (m *mates) noteFounder(id model.PeerID, level uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.founders[id] = level
}

// levelOf returns the level that a peer has last reported.
func (m *mates) levelOf(id model.PeerID) (level uint32, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, known := m.heard[id]; known {
		return v.hello.Peer.Level, true
	}
	level, found = m.founders[id]
	return level, found
}

// expect makes a peer that is being admitted count as a member's description until the returned function is
// called.
func (m *mates) expect(joiner model.Peer) (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joining[joiner.ID] = joiner
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.joining, joiner.ID)
	}
}

// expected returns the peers that are being admitted.
func (m *mates) expected() []model.Peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.joining))
}
