// Package gossip finds the members of a cluster and detects which of them still answer on the network.
//
// Every peer and every node of a Berth cluster runs one [Gossip]. They find one another from a few seed
// addresses, spread a small record about themselves ([Meta]: what they are and where they listen) and notice
// quickly when one stops answering. The protocol is SWIM, by hashicorp/memberlist.
//
// The result is a hint and never a verdict. A member shown as silent may be running jobs on the far side of a
// cut cable; only the leader, through the log, declares anything lost. Hints are good for finding the other
// peers, for an early warning to operators, and for not placing new work on a host that may be gone.
//
// No member is believed beyond what its certificate proves. All traffic is TLS with the certificates of members on both sides, so the
// sender of each message is proven, revocation counts at once, and there is no key that all machines share. What members say is checked
// against their proven names before memberlist reads it: see checker. So a node can neither invent nor displace a member.
//
// Two more properties of memberlist shape the package. It panics when a member's own record outgrows 512 bytes, so records are
// measured before it sees them. And it runs callbacks and logging under its lock, so nothing here blocks on a reader, on a lock held
// for long, or on a log.
package gossip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// ErrStopped is returned by calls on a Gossip that has left or was closed.
var ErrStopped = errors.New("gossip: has left the cluster or was closed")

// goodbyeSpreads is how long the others get to pass a goodbye on, five rounds of gossip. The departure proper
// comes after it and would displace what is still queued about this member.
const goodbyeSpreads = time.Second

// Gossip is one member's view of the cluster and its own place in it. Its
// methods may be called from any goroutine.
type Gossip struct {
	list   *memberlist.Memberlist
	roster *roster
	self   *self
	notes  *notes
	seeds  []string
	net    Network
	check  *checker

	ctx   context.Context // ends when the member leaves or is closed
	stop  context.CancelFunc
	loops sync.WaitGroup
	turn  chan struct{} // held by the one Leave or Close that is under way
}

// Start opens the member's port, announces cfg.Meta and, in the background, joins
// cfg.Seeds until one answers. It fails when cfg is invalid or the address cannot be listened on. The caller
// ends it with Close.
func Start(cfg Config) (*Gossip, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	record, err := encodeMeta(cfg.Meta)
	if err != nil {
		return nil, err
	}
	g := &Gossip{
		self:  &self{},
		notes: newNotes(cfg.Logger),
		net:   cfg.Network,
		check: newChecker(cfg.name(), cfg.Admit),
		turn:  make(chan struct{}, 1),
	}
	g.self.record.Store(&record)
	g.roster = newRoster(cfg.name(), g.check.admits, g.notes)

	if err := g.open(cfg); err != nil {
		g.notes.close()
		return nil, err
	}
	own := g.Addr().String()
	g.seeds = slices.DeleteFunc(slices.Clone(cfg.Seeds), func(s string) bool { return s == own })
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.loops.Go(g.rejoinLoop)
	return g, nil
}

// open starts memberlist with cfg, which listens from then on.
func (g *Gossip) open(cfg Config) error {
	t, err := listen(cfg.Network, cfg.Bind.String(), cfg.Advertise, g.check, g.roster.at, g.notes)
	if err != nil {
		return fmt.Errorf("gossip: cannot listen on %s (is the port taken by another process?): %w", cfg.Bind, err)
	}
	if g.list, err = memberlist.Create(cfg.memberlist(g.self, t, g.roster, g.notes)); err != nil {
		return errors.Join(fmt.Errorf("gossip: cannot start on %s: %w", cfg.Bind, err), t.Shutdown())
	}
	return nil
}

// Addr returns the address at which the other members reach this one.
func (g *Gossip) Addr() netip.AddrPort { return g.roster.own().Addr }

// Members returns all known members, this one included, sorted by name. Silent members stay listed for a day
// and departed ones for an hour.
func (g *Gossip) Members() []Member { return g.roster.list() }

// Changed receives a value after Members has changed. Changes without a receive in between are merged into
// one, so there should be one receiver, which reads Members again.
func (g *Gossip) Changed() <-chan struct{} { return g.roster.changed }

// Join exchanges the lists of members with the given addresses ("host:port"; a host alone means our own
// port), all at the same time. It returns how many answered, and an error when none did. When ctx ends first
// it returns at once; attempts under way then end by themselves within ten seconds and may still succeed.
func (g *Gossip) Join(ctx context.Context, seeds []string) (int, error) {
	if g.ctx.Err() != nil {
		return 0, ErrStopped
	}
	answers := make(chan error, len(seeds))
	for _, seed := range seeds {
		go func() {
			_, err := g.list.Join([]string{seed})
			answers <- err
		}()
	}
	joined := 0
	var failed error
	for range seeds {
		select {
		case err := <-answers:
			if err == nil {
				joined++
			}
			failed = errors.Join(failed, err)
		case <-ctx.Done():
			return joined, fmt.Errorf("gossip: join: %w", ctx.Err())
		case <-g.ctx.Done():
			return joined, ErrStopped
		}
	}
	if joined == 0 && len(seeds) > 0 {
		reasons := strings.Join(strings.Fields(failed.Error()), " ") // memberlist's errors have many lines
		return 0, fmt.Errorf("gossip: none of %q answered (of the same cluster, and known to it?): %s", seeds, reasons)
	}
	return joined, nil
}

// Reach connects to a member, and returns the address of its gossip: invalid, if the member is not known. The other side must prove
// the member's name.
func (g *Gossip) Reach(ctx context.Context, name string) (netip.AddrPort, error) {
	members := g.Members()
	at := slices.IndexFunc(members, func(m Member) bool { return m.Name == name })
	switch {
	case at < 0:
		return netip.AddrPort{}, fmt.Errorf("gossip does not know %s", name)
	case name == g.roster.self:
		return members[at].Addr, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, found, err := g.net.Dial(ctx, members[at].Addr.String())
	if err == nil {
		err = conn.Close()
	}
	if err == nil && found != name {
		err = fmt.Errorf("at %s is %s in place of %s", members[at].Addr, found, name)
	}
	return members[at].Addr, err
}

// Leave announces the departure, so that the others show this member as departed rather than silent, and
// waits until that is sent: two to four seconds with other members, and at most timeout. Only Close may
// follow. Without Leave the others notice the absence by themselves.
func (g *Gossip) Leave(timeout time.Duration) error {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	if g.ctx.Err() != nil {
		return ErrStopped
	}
	g.halt()
	record := markLeaving(*g.self.record.Load())
	g.self.record.Store(&record)
	part := max(timeout/3, time.Millisecond) // to memberlist zero means for ever
	// The goodbye in the record separates a departure from a failure, which memberlist knows but does not
	// pass on. If it does not get through, the others show us as silent: a hint less, no harm.
	_ = g.list.UpdateNode(part)
	if g.list.NumMembers() > 1 {
		time.Sleep(min(part, goodbyeSpreads))
	}
	if err := g.list.Leave(part); err != nil {
		return fmt.Errorf("gossip: leave: %w", err)
	}
	return nil
}

// Close ends all traffic and frees the sockets, after a Leave under way. It may
// be called again, and without Leave, which looks to the others like a crash. A
// probe of memberlist's that is under way ends by itself some seconds later.
func (g *Gossip) Close() error {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	g.halt()
	err := g.list.Shutdown()
	g.notes.close()
	if err != nil {
		return fmt.Errorf("gossip: close: %w", err)
	}
	return nil
}

// halt ends the search for missing members.
func (g *Gossip) halt() {
	g.stop()
	g.loops.Wait()
}

// signal wakes the reader of a channel of capacity one, or does nothing when it has been woken already.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
