package wire

// Peers is the answer to GET /cluster/peers.
type Peers struct {
	Cluster string `json:"cluster_id"`
	Term    uint64 `json:"term"`
	Leader  string `json:"leader,omitempty"`
	Peers   []Peer `json:"peers" nullable:"false"`

	ClocksDisagree bool `json:"clocks_disagree,omitempty" doc:"the wall clocks differ by more than 2 s, without a majority of peers that agrees: changes may be refused with clock_ahead"`
}

// Peer is one peer as the answering one sees it.
type Peer struct {
	Name         string `json:"name"`
	Address      string `json:"address" doc:"of its API"`
	RaftAddress  string `json:"raft_address"`
	Role         string `json:"role" enum:"leader,follower"`
	AppliedIndex uint64 `json:"applied_index"`
	Reachable    bool   `json:"reachable"`
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
