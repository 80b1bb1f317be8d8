// Package raftnet is the peer port: the one listener of a peer for other peers, and Raft's messages over it.
//
//	Network    how to listen and dial: TCP here, TLS or a simulated network elsewhere
//	Mux        one listener; the first byte of a connection separates Raft streams from calls
//	DialCall   opens a connection for calls to another peer's Mux
//	Transport  raft.NetworkTransport with its known hazards held off; what raft.NewRaft is given
//
// Calls are those of cluster/call. A peer puts the two together so:
//
//	server := call.NewServer(log)
//	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: raftnet.TCP{}, Bind: ":7000", Advertise: "10.0.0.1:7000", Calls: server.Admit})
//	transport := raftnet.NewTransport(mux.Raft(), raftnet.TransportConfig{})
//	client := call.NewClient("p1", func(to peer.Server, timeout time.Duration) (net.Conn, error) {
//		return raftnet.DialCall(raftnet.TCP{}, to, timeout)
//	})
//
// The package trusts its connections: a program that may connect can take over the log. So the Network of a server
// admits peers of its cluster only, by mutual TLS (package trust), and proves their ids.
package raftnet
