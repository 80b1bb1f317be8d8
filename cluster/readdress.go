package cluster

import "context"

// Readdress gives the cluster the address that this peer is started with, where the cluster has another one for it: a leader has no
// other peer that could ask for it, and one that is alone could not be joined. Only the leader accepts the call.
func (p *Peer) Readdress(ctx context.Context) error {
	if !p.leads() {
		return notLeader(p)
	}
	return p.takeIn(ctx, p.cfg.Self)
}
