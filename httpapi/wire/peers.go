package wire

// Peers is the answer to GET /cluster/peers.
type Peers struct {
	Cluster string `json:"cluster_id"`
	Term    uint64 `json:"term"`
	Leader  string `json:"leader,omitempty"`
	Peers   []Peer `json:"peers" nullable:"false"`

	ClocksDisagree bool `json:"clocks_disagree,omitempty" doc:"the wall clocks differ by more than 2 s, without a majority of peers that agrees: changes may be refused with clock_ahead"`
	Voters         int  `json:"voters" doc:"peers with a vote"`
	Tolerates      int  `json:"tolerates" doc:"how many more voters may fail before the cluster stops; negative: it has stopped"`
}

// Peer is one peer as the answering one sees it.
type Peer struct {
	Name         string `json:"name"`
	Address      string `json:"address" doc:"of its API"`
	PublicURL    string `json:"public_url,omitempty" doc:"under which users and browsers reach its API; absent: by the address"`
	RaftAddress  string `json:"raft_address"`
	Role         string `json:"role" enum:"leader,follower"`
	AppliedIndex uint64 `json:"applied_index"`
	Reachable    bool   `json:"reachable"`
	Gossip       string `json:"gossip,omitempty" enum:"alive,silent,left" doc:"what the other members say of it; absent without gossip"`
	Voter        bool   `json:"voter" doc:"its vote counts in elections and for writes; a peer that has joined gets one after ten seconds without a break, if that makes the number of votes odd"`
	Version      string `json:"version,omitempty"`

	ClockOffset *float64 `json:"clock_offset_seconds,omitempty" doc:"its wall clock minus that of the answering peer; absent without contact within 5 s"`

	Self bool `json:"self,omitempty" doc:"this peer gave the answer"`
}

// Health is the answer to GET /healthz and /readyz.
type Health struct {
	Status string `json:"status" doc:"ok, or the reason of the failure"`
	Peer   string `json:"peer"`
	Role   string `json:"role"`
	Leader string `json:"leader,omitempty"`
}
