// Package trust decides which connections are those of this cluster: it issues certificates, checks them, and makes
// the TLS configurations of all listeners and dialers.
//
//	identity.go   what a certificate names: cluster, generation, role and name
//	authority.go  the certificate authority of a cluster, which issues certificates
//	request.go    requests for a certificate
//	token.go      tokens by which machines join
//	verify.go     the rules that a certificate must meet, and why one is refused
//	tls.go        TLS configurations that take certificates and rules at each handshake
//	network.go    listeners and dialers over TLS
//	public.go     a certificate for browsers, in files
//	local.go      the socket for root on the machine of a peer
//	probe.go      whether a machine that joins can be reached
//	watch.go      connections that end when a certificate counts no more
//	bundle.go     what a cluster trusts, which changes in a rotation
//	secrets.go    the keys of authorities
//	pem.go        the form of keys and certificates in files
//	found.go      new clusters and their members
//	renew.go      renewal at half of a certificate's life
//	folder.go     keys and certificates on the disk
//
// A certificate is identified by its URI, never by an address: berth://CLUSTER/gGENERATION/ROLE/NAME. Machines may
// change their addresses and names as they like. Only TLS 1.3 is spoken, sessions are not resumed, and every
// handshake checks the certificate of the other side by the rules that hold at that instant, so that a renewal, a
// rotation and a revocation need no restart.
//
// The generation of a cluster is raised when the cluster is recovered from the loss of its majority. Peers of a
// former generation are refused: they would be a second cluster with the same keys.
package trust
