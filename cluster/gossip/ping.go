package gossip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"
)

// pingTries is how often a member is asked before it counts as silent: a packet may get lost.
const pingTries = 3

// knockLimit bounds the wait for a connection.
const knockLimit = 2 * time.Second

// ErrNoAnswer means that a member has not answered over UDP. Whether its port is closed, its packets or the answers are dropped on
// the way, or it has another key, cannot be told apart.
var ErrNoAnswer = errors.New("no answer over UDP")

// Ping asks a member directly, over UDP, and returns the address that was asked: invalid, if the member is not known. The answer goes
// to the address under which this member is announced, so it proves both directions. The error is [ErrNoAnswer] or that of the socket.
func (g *Gossip) Ping(ctx context.Context, name string) (netip.AddrPort, error) {
	members := g.Members()
	at := slices.IndexFunc(members, func(m Member) bool { return m.Name == name })
	if at < 0 {
		return netip.AddrPort{}, fmt.Errorf("gossip does not know %s", name)
	}
	if name == g.roster.self {
		return members[at].Addr, nil
	}
	return members[at].Addr, ping(ctx, g.list, name, members[at].Addr)
}

// Knock connects to the gossip of a member over TCP, names the cluster there as members do, and says no more.
func (g *Gossip) Knock(ctx context.Context, at netip.AddrPort) error { return knock(ctx, g.label, at) }

// Knock connects to the gossip of a member over TCP, see [Gossip.Knock].
func (p *Prober) Knock(ctx context.Context, at netip.AddrPort) error { return knock(ctx, p.label, at) }

func knock(ctx context.Context, label string, at netip.AddrPort) error {
	ctx, cancel := context.WithTimeout(ctx, knockLimit)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at.String())
	if err != nil {
		return err
	}
	return errors.Join(memberlist.AddLabelHeaderToStream(conn, label), conn.Close())
}

// ping asks one member, a few times.
func ping(ctx context.Context, list *memberlist.Memberlist, name string, at netip.AddrPort) error {
	for range pingTries {
		if err := ctx.Err(); err != nil {
			return ErrNoAnswer
		}
		_, err := list.Ping(name, net.UDPAddrFromAddrPort(at))
		if err == nil {
			return nil
		}
		var silent memberlist.NoPingResponseError
		if !errors.As(err, &silent) {
			return err
		}
	}
	return ErrNoAnswer
}

// Prober asks members from a port of its own, without being a member: it works while no gossip runs on this machine, and next to it.
type Prober struct {
	list  *memberlist.Memberlist
	notes *notes
	label string
}

// proberName is a name that no member has: names of members begin with their kind.
const proberName = "prober"

// NewProber returns a prober for the members of a cluster with these keys. The caller closes it.
func NewProber(label string, keys [][]byte) (*Prober, error) {
	n := newNotes(nil)
	cfg := Config{Name: proberName, Label: label, Keys: keys}
	record := []byte{}
	s := &self{announce: make(chan struct{}, 1)}
	s.record.Store(&record)
	p := &Prober{notes: n, label: label}
	err := func() error {
		if len(keys) == 0 {
			return errors.New("gossip: no key")
		}
		plain, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{"0.0.0.0"}, Logger: log.New(io.Discard, "", 0)})
		if err != nil {
			return err
		}
		cfg.Transport = &unannounced{plain}
		mc, err := cfg.memberlist(s, newRoster(proberName, n), n)
		if err == nil {
			mc.UDPBufferSize = 1 // no room for news next to a question: those are about the sender, which is no member
			p.list, err = memberlist.Create(mc)
		}
		if err != nil {
			return errors.Join(err, plain.Shutdown())
		}
		return nil
	}()
	if err != nil {
		n.close()
		return nil, fmt.Errorf("gossip: no prober: %w", err)
	}
	return p, nil
}

// Ping asks the member of a name at an address, over UDP. The member answers to the port of the question, as routers with address
// translation and firewalls with a memory expect. The error is [ErrNoAnswer] or that of the socket.
func (p *Prober) Ping(ctx context.Context, name string, at netip.AddrPort) error {
	return ping(ctx, p.list, name, at)
}

// Close frees the port.
func (p *Prober) Close() error {
	err := p.list.Shutdown()
	p.notes.close()
	return err
}

// unannounced is a transport of a process that is no member. Its messages name no port of their sender, so answers go to the port
// that they came from.
type unannounced struct{ *memberlist.NetTransport }

// FinalAdvertiseAddr returns an address that is never sent.
func (*unannounced) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	return net.IPv4(127, 0, 0, 1), 0, nil
}
