package wire

import "time"

// Probe is the body of POST /cluster/probe: the member that the peers connect to. Agents may leave it out: it is their own node.
type Probe struct {
	Role string `json:"role,omitempty" doc:"peer or node; of agents node"`
	Name string `json:"name,omitempty" maxLength:"128" doc:"name of the member; of agents their own"`
}

// Probed is the answer: whether each peer reaches a member at the addresses that the cluster has of the member. No address is ever
// one of the request.
type Probed struct {
	Member

	AnsweredBy string      `json:"answered_by"`
	Peers      []ProbePeer `json:"peers" nullable:"false" doc:"every peer, with what it has found"`
}

// ProbePeer is a peer, and whether it reaches the member.
type ProbePeer struct {
	Peer    string    `json:"peer"`
	Asked   bool      `json:"asked" doc:"the peer has answered the one that answers this request"`
	Error   string    `json:"error,omitempty" doc:"why the peer has not answered"`
	API     string    `json:"api" doc:"address of its API"`
	Raft    string    `json:"raft" doc:"address for other peers"`
	Gossip  string    `json:"gossip,omitempty" doc:"address of its gossip; absent: it runs none"`
	Time    time.Time `json:"time,omitzero" doc:"its clock"`
	Version string    `json:"version,omitempty"`
	Level   uint32    `json:"level,omitempty" doc:"the greatest feature level that its program knows"`
	Hears   string    `json:"gossip_state,omitempty" doc:"what its gossip says of the member: alive, silent or left"`

	Ports []ProbePort `json:"ports" nullable:"false" doc:"whether it reaches the member at each of the addresses of the member; none for itself"`
}

// What a port has answered.
const (
	PortAnswers  = "answers"   // it was connected to, or the program there has answered
	PortRefused  = "refused"   // the machine answers that nothing listens there
	PortNoAnswer = "no_answer" // nothing came back: closed by a firewall, no such machine, or no program
	PortFailed   = "failed"    // another error, see the detail
)

// PortGossip is the name of the port of gossip.
const PortGossip = "gossip"

// ProbePort is a port of a member, as a peer has found it.
type ProbePort struct {
	Port    string `json:"port" enum:"raft,api,agent,gossip"`
	Network string `json:"network" enum:"tcp"`
	Address string `json:"address"`
	Result  string `json:"result" enum:"answers,refused,no_answer,failed"`
	Detail  string `json:"detail,omitempty"`
}
