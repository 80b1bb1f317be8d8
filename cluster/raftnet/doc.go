// Package raftnet is the network layer between peers: Raft's messages and calls between the peers, over one
// listener.
//
//	Network    how to listen and dial: TCP here, TLS or a simulated network elsewhere
//	Mux        one listener; the first byte of a connection separates Raft streams from calls
//	Transport  raft.NetworkTransport with its known hazards held off; what raft.NewRaft is given
//	Server     answers calls of other peers
//	Client     makes calls to other peers, and separates "never sent" from "outcome unknown"
//
// A peer puts them together so:
//
//	server := raftnet.NewServer(log)
//	server.Handle(methodPing, ping)
//	mux, err := raftnet.Listen(raftnet.MuxConfig{Network: raftnet.TCP{}, Bind: ":7000", Advertise: "10.0.0.1:7000", Calls: server})
//	transport := raftnet.NewTransport(mux.Raft(), raftnet.TransportConfig{})
//	client := raftnet.NewClient(raftnet.TCP{}, mux.Addr().String())
//
// The package trusts its connections: any program that reaches the listener can take over the log. Outside a
// trusted machine the Network must admit peers only, by mutual TLS.
package raftnet
