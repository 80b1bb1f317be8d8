// Package call is how peers call each other: named calls with typed questions and answers, over connections
// of the peer port.
//
//	Name    names a call, with its lane and the types of its question and answer
//	Handle  the one seam of a server: sets what answers a call
//	Do      the one seam of a client: makes a call at another peer
//	Lane    calls of one kind, with connections and bounds of their own
//	Server  answers the calls of other peers, on connections that it is given
//	Client  makes calls, over one connection for each lane and peer
//
// For example, with a question Ask and an answer Told:
//
//	var status = call.Define[Ask, Told](call.Control, "status")
//	call.Handle(server, status, func(ctx context.Context, from model.PeerID, q *Ask) (*Told, error) { ... })
//	told, err := call.Do(ctx, client, peer.Server{ID: "p2", Address: "10.0.0.2:7000"}, status, &Ask{})
//
// An error of Do says what is known of the call: that the other peer never got it (ErrNotSent), that it has
// refused or failed (*RemoteError, with the kind that the handler gave), or nothing (ErrOutcomeUnknown).
//
// The sender's id is a claim. Only connections that prove the identity of their other end, by mutual TLS,
// make it more than that.
package call
