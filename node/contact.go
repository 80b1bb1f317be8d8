package node

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/agentwire"
	"github.com/berth-gpu/berth/node/fence"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/runner"
)

const (
	renewEvery = 2 * time.Second
	// overdueAfter is the age from which the renewal of a lease is urgent: more than two steps of renewals
	// that share a log entry.
	overdueAfter = 3 * renewEvery
	patience     = 3 * time.Second // of a call
	againSoon    = 200 * time.Millisecond
	againLater   = 5 * time.Second // after a refusal that only an operator can resolve
	maxFolders   = 2000            // in a registration; further ends are reported after the registration
	keepGrants   = 20
	markFile     = "mark"
)

// contact keeps the node registered and its lease renewed.
type contact struct {
	*core
	units   *units
	space   *space
	lease   fence.Lease
	session string
	grants  []grant           // the newest of them
	known   model.Incarnation // of the node's last registration
	busy    bool              // a registration is under way
	nextReg time.Time
	next    time.Time // of a renewal
	urgent  bool      // no renewal was accepted since a registration or a clock gap
	overdue bool      // a warning was logged that the lease is not renewed
	refused string    // reason of the last registration's refusal
	peers   []string  // addresses of all peers
	away    *away

	warnings func() map[model.GPUID]string // what is to be shown with GPUs, in addition to their own warnings
}

// grant is an accepted renewal.
type grant struct {
	index uint64 // of a state that holds it
	start fence.Boot
}

func newContact(c *core, b *units) *contact {
	k := &contact{core: c, units: b, session: journal.Random(), peers: c.Peers}
	k.away = newAway(c, k.pass)
	var mark fence.Mark
	if c.Journal.Get(markFile, &mark) == nil {
		k.lease = fence.Restore(mark, c.Self.Boot)
		k.known = mark.Registration.Incarnation
	}
	return k
}

// register registers the node with the state of the data folder.
func (k *contact) register() {
	if k.busy || !due(k.nextReg) {
		return
	}
	k.busy = true
	body, told := k.card()
	k.background(func() func() {
		body.Devices = k.GPUs.Inventory()
		ctx, cancel := context.WithTimeout(k.ctx, 3*patience)
		defer cancel()
		answer, err := k.Cluster.Register(ctx, body)
		return func() {
			k.busy, k.nextReg = false, later(againSoon)
			switch {
			case err != nil:
				k.logRefusal(err.Error())
			case answer.Code == model.CodeStaleEpoch && k.lease.OutOfTurn(body.Follows, answer.Epoch):
				k.nextReg = time.Time{}
			case answer.Code != model.CodeOK:
				k.logRefusal(answer.Code.String() + ": " + answer.Detail)
				k.nextReg = later(againLater)
			default:
				k.registered(answer, told)
			}
		}
	})
}

// card returns the request for a registration, and the progress of units that it contains.
func (k *contact) card() (*agentwire.Register, map[*unit]model.Progress) {
	s := k.Self
	body := &agentwire.Register{
		Node: s.Node, Machine: s.Machine, Boot: s.Boot, Lineage: k.Journal.Lineage(), Session: k.session,
		Hostname: s.Hostname, Address: s.Address, Version: s.Version, CPUs: s.CPUs, MemoryMB: s.MemoryMB,
		Features: s.Features, Labels: s.Labels, Follows: k.lease.Follows(), Trouble: model.Clip(k.space.trouble),
		Accounts: s.Accounts, Account: s.Account,
	}
	told := map[*unit]model.Progress{}
	units := k.units.sorted()
	for _, u := range units[:min(len(units), maxFolders)] {
		body.Folders = append(body.Folders, model.Folder{
			Rank: u.record.Rank, Incarnation: model.Incarnation(u.record.Incarnation), Running: !u.phase.Ended(), GPUs: u.record.IDs(),
		})
		if p, ok := u.progress(hostOf(s.Address)); ok {
			told[u] = p
			body.Reports = append(body.Reports, p)
		}
	}
	return body, told
}

// logRefusal logs once why a registration failed.
func (k *contact) logRefusal(why string) {
	if why != k.refused {
		k.Log.Warn("node registration failed, retrying", "node", k.Self.Node, "why", why)
		k.refused = why
	}
}

func (k *contact) registered(answer *agentwire.Registered, told map[*unit]model.Progress) {
	reg := fence.Registration{Incarnation: answer.Incarnation, Node: k.Self.Node, Epoch: answer.Epoch}
	if !k.lease.Registered(reg) {
		return
	}
	k.refused = ""
	k.units.confirm(told, answer.Index)
	k.setPeers(answer.Peers)
	if k.known != answer.Incarnation && !k.known.IsZero() {
		k.grants = nil
		k.units.recall()
	}
	k.units.identify(answer.Incarnation)
	k.known = answer.Incarnation
	k.renewNow()
	k.Log.Info("registered", "node", k.Self.Node, "epoch", answer.Epoch)
	mark := k.lease.Mark(k.Self.Boot)
	k.background(func() func() {
		err := k.Journal.Put(markFile, mark)
		return func() {
			if err != nil {
				k.Log.Warn("cannot save the lease mark", "err", err)
			}
		}
	})
}

// setPeers takes the peers' addresses from an answer.
func (k *contact) setPeers(peers []string) {
	if len(peers) == 0 {
		return
	}
	for _, p := range k.Peers {
		if !slices.Contains(peers, p) {
			peers = append(peers, p)
		}
	}
	k.peers = peers
	k.Cluster.SetPeers(peers)
}

// renewNow requests an immediate renewal that does not wait for other nodes' renewals.
func (k *contact) renewNow() { k.next, k.urgent = time.Time{}, true }

// renew sends a renewal every two seconds, answered or not.
func (k *contact) renew(now fence.Boot) {
	k.away.ask(k.peers)
	if !due(k.next) {
		return
	}
	r, ok := k.lease.Send(now)
	if !ok {
		return
	}
	k.next = later(renewEvery)
	urgent, warnings := k.urgent || now.Sub(k.lease.Start()) > overdueAfter, k.warnings()
	k.background(func() func() {
		q := &agentwire.Renew{Node: r.Node, Incarnation: r.Incarnation, Epoch: r.Epoch, Seq: r.Seq, Samples: k.GPUs.Samples(), Urgent: urgent}
		for i := range q.Samples {
			q.Samples[i].Warning = cmp.Or(warnings[q.Samples[i].GPU], q.Samples[i].Warning)
		}
		ctx, cancel := context.WithTimeout(k.ctx, patience)
		defer cancel()
		answer, err := k.Cluster.Renew(ctx, q)
		return func() {
			switch {
			case err == nil:
				k.renewed(r, answer)
			case urgent && !k.overdue:
				k.overdue = true // one line until the lease is renewed again
				k.Log.Warn("lease_not_renewed", "node", k.Self.Node, "err", err, "remedy", "jobs here end with the lease unless a peer accepts a renewal before")
			default:
				k.Log.Debug("renewal failed", "err", err)
			}
		}
	})
}

func (k *contact) renewed(r fence.Renewal, answer *agentwire.Renewed) {
	k.setPeers(answer.Peers)
	if answer.Code != model.CodeOK {
		k.lease.Refused(r, answer.Code, answer.Newest)
		k.Log.Debug("renewal refused", "code", answer.Code)
		return
	}
	k.away.renewed(answer.Voters)
	if !k.lease.Accepted(r) {
		return
	}
	k.urgent, k.overdue = false, false
	k.grants = append(k.grants[max(0, len(k.grants)-keepGrants):], grant{answer.Index, k.lease.Start()})
	k.pass(runner.Lease{Start: time.Duration(k.lease.Start())})
}

// pass passes a lease to the supervisors of the known ranks. The lease of an unknown rank is not extended:
// that rank reaches its fence before the cluster gives it up.
func (k *contact) pass(l runner.Lease) {
	for path, ranks := range k.units.leases() {
		l.Ranks = ranks
		if err := (runner.RunFolder{Path: path, Boot: k.Run.Boot}).SetLease(l); err != nil {
			k.Log.Error("cannot pass the lease to the supervisors", "folder", path, "err", err)
		}
	}
}

// refuse handles a code that may require a new registration.
func (k *contact) refuse(reg fence.Registration, code model.Code) {
	k.lease.Refused(fence.Renewal{Registration: reg}, code, 0)
}

// startFor returns the start of the lease as far as it may begin ranks of a set with that index: that of a
// renewal which the set's state contains. A newer renewal may have been accepted after ranks of the set were
// given up, since the lease belongs to the node; running ranks are protected by their guard, which has begun
// by then.
func (k *contact) startFor(index uint64) (start fence.Boot) {
	for _, g := range k.grants {
		if g.index <= index {
			start = max(start, g.start)
		}
	}
	return start
}
