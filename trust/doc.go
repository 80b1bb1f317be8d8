// Package trust decides which connections are those of this cluster: it issues certificates, checks them, and makes
// the TLS configurations of all listeners and dialers.
//
// A certificate is identified by its URI, never by an address: berth://CLUSTER/gGENERATION/ROLE/NAME. Machines may
// change their addresses and names as they like. Only TLS 1.3 is spoken, sessions are not resumed, and every
// handshake checks the certificate of the other side by the rules that hold at that instant, so that a renewal, a
// rotation and a revocation need no restart.
//
// The generation of a cluster is raised when the cluster is recovered from the loss of its majority. Peers of a
// former generation are refused: they would be a second cluster with the same keys.
package trust
