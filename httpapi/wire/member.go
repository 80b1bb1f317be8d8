package wire

import "time"

// Join is the body of POST /cluster/join, by which a machine joins. A machine that has lost the answer sends the same
// token and a request with the same key again.
type Join struct {
	Token   string    `json:"token" doc:"the join token without its last part, which is the hash of the authority's key"`
	Role    string    `json:"role" doc:"peer or node, as the token says"`
	Name    string    `json:"name" doc:"name of the peer or node"`
	Request []byte    `json:"request" doc:"request for a certificate: PKCS #10 in DER, as base64"`
	Time    time.Time `json:"time" doc:"the machine's clock, which may differ from that of the leader by at most 30 seconds"`
	Address string    `json:"address,omitempty" doc:"address under which the machine will listen, host:port: the leader connects there before anything is recorded; empty: nothing is checked"`
	Proof   string    `json:"proof,omitempty" doc:"what the machine answers at the address, 32 hexadecimal digits"`
	Renew   bool      `json:"renew,omitempty" doc:"the machine holds an earlier certificate of this member: only such a machine gets another one of a peer"`
}

// Joined is the answer.
type Joined struct {
	Success     bool          `json:"success"`
	Cluster     string        `json:"cluster" doc:"id of the cluster"`
	Certificate []byte        `json:"certificate" doc:"X.509 in DER, as base64"`
	Authorities string        `json:"authorities" doc:"certificates of the authorities that the cluster trusts, in PEM"`
	Link        []byte        `json:"link,omitempty" doc:"certificate of the first authority, signed by the one before: X.509 in DER, as base64"`
	Revision    uint64        `json:"revision,omitempty" doc:"of what the cluster trusts"`
	Keys        [][]byte      `json:"keys,omitempty" nullable:"false" doc:"private keys of the authorities, PKCS #8 in DER as base64; for peers only"`
	Peers       []PeerAddress `json:"peers" nullable:"false" doc:"the peers of the cluster"`
}

// PeerAddress is a peer's addresses.
type PeerAddress struct {
	ID   string `json:"id"`
	API  string `json:"api" doc:"address of the API"`
	Raft string `json:"raft" doc:"address for other peers"`
}

// Certificates is the answer to GET /cluster/certificates.
type Certificates struct {
	Certificates []Certificate `json:"certificates" nullable:"false" doc:"the newest certificate of each member, by role and name"`
}

// Certificate is the newest certificate of a member.
type Certificate struct {
	Role      string    `json:"role" doc:"peer or node"`
	Name      string    `json:"name"`
	Serial    string    `json:"serial,omitempty"`
	IssuedAt  time.Time `json:"issued_at,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	By        string    `json:"by,omitempty" doc:"actor that has had it issued or revoked"`
	Revoked   bool      `json:"revoked"`
}
