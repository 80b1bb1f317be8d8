package gossip

import (
	"cmp"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// Absent members are listed for a while, so that operators see which are missing and both halves of a healed
// network find each other again.
const (
	forgetSilent = 24 * time.Hour
	forgetLeft   = time.Hour
)

// State is what the network suggests about a member. It is a hint.
type State uint8

const (
	// StateAlive is a member that answers, as far as the others have noticed.
	StateAlive State = iota + 1
	// StateSilent is a member that does not answer others' probes: it is
	// down, cut off or overloaded. It may well be at work.
	StateSilent
	// StateLeft is a member that announced its departure.
	StateLeft
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case StateAlive:
		return "alive"
	case StateSilent:
		return "silent"
	case StateLeft:
		return "left"
	default:
		return "state " + strconv.Itoa(int(s))
	}
}

// Member is one member's last known record.
type Member struct {
	Name  string
	Addr  netip.AddrPort // of gossip
	Meta  Meta           // zero, with KindUnknown, when its record could not be read
	State State
	Since time.Time // when State began, by this member's clock
}

// roster is the table of members, updated by memberlist's events.
//
// memberlist can list members too, but returns pointers into its own table, which it goes on writing to, and
// omits those that are gone. Its events come under its lock, so everything here is short.
type roster struct {
	self    string
	admits  func(name string) bool
	notes   *notes
	changed chan struct{}

	mu      sync.Mutex
	members map[string]Member
}

func newRoster(self string, admits func(string) bool, n *notes) *roster {
	return &roster{self: self, admits: admits, notes: n, changed: make(chan struct{}, 1), members: make(map[string]Member)}
}

// NotifyJoin records a member that is new or back.
func (r *roster) NotifyJoin(n *memberlist.Node) { r.put(n, StateAlive) }

// NotifyUpdate records a member's new record.
func (r *roster) NotifyUpdate(n *memberlist.Node) { r.put(n, StateAlive) }

// NotifyLeave records a member that is gone, announced or not.
func (r *roster) NotifyLeave(n *memberlist.Node) { r.put(n, StateSilent) }

// NotifyConflict reports two holders of a name. memberlist keeps the first.
func (r *roster) NotifyConflict(existing, other *memberlist.Node) {
	r.notes.add(slog.LevelError, "two members claim one name; the first keeps it: rename or stop the second",
		slog.String("member", existing.Name), slog.String("first", existing.Address()), slog.String("second", other.Address()))
}

// put records n in the given state, or as departed if its record says so, keeps the time at which that state
// began, and notifies the reader.
func (r *roster) put(n *memberlist.Node, state State) {
	meta, leaving, err := decodeMeta(n.Meta)
	if err != nil {
		r.notes.add(slog.LevelWarn, "cannot read a member's record; is it of another release?",
			slog.String("member", n.Name), slog.Any("error", err))
	}
	if leaving {
		state = StateLeft
	}
	ip, _ := netip.AddrFromSlice(n.Addr)
	m := Member{
		Name:  n.Name,
		Addr:  netip.AddrPortFrom(ip.Unmap(), n.Port),
		Meta:  meta,
		State: state,
		Since: time.Now(),
	}

	r.mu.Lock()
	old, known := r.members[m.Name]
	if known && old.State == m.State {
		m.Since = old.Since
	}
	r.members[m.Name] = m
	r.mu.Unlock()

	signal(r.changed)
	if old.State != m.State && m.Name != r.self {
		r.notes.add(slog.LevelInfo, "member is "+m.State.String(),
			slog.String("member", m.Name), slog.String("kind", m.Meta.Kind.String()), slog.String("addr", m.Addr.String()))
	}
}

// own returns this member's own entry.
func (r *roster) own() Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[r.self]
}

// at reports whether a member is at an IP address.
func (r *roster) at(ip string) bool {
	at, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	at = at.Unmap()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members { // order-free: whether there is one
		if m.Addr.Addr() == at && m.Name != r.self {
			return true
		}
	}
	return false
}

// lists reports whether a member is listed.
func (r *roster) lists(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.members[name]
	return known
}

// list returns all members that take part, by name, after forgetting those long gone.
func (r *roster) list() []Member {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.members, func(_ string, m Member) bool {
		gone := now.Sub(m.Since)
		return m.State == StateSilent && gone > forgetSilent || m.State == StateLeft && gone > forgetLeft
	})
	all := slices.Collect(maps.Values(r.members))
	all = slices.DeleteFunc(all, func(m Member) bool { return !r.admits(m.Name) }) // it was removed, or revoked
	slices.SortFunc(all, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// self answers memberlist's queries about this member. It sends no messages of its own.
type self struct {
	record atomic.Pointer[[]byte] // at most MaxMeta bytes
}

// NodeMeta returns the record to announce.
func (s *self) NodeMeta(int) []byte { return *s.record.Load() }

// NotifyMsg ignores messages: no release sends any.
func (s *self) NotifyMsg([]byte) {}

// GetBroadcasts adds nothing to gossip.
func (s *self) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState adds nothing to a full exchange.
func (s *self) LocalState(bool) []byte { return nil }

// MergeRemoteState ignores what others add to a full exchange.
func (s *self) MergeRemoteState([]byte, bool) {}
