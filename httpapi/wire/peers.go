package wire

// Peers is the answer to GET /cluster/peers.
type Peers struct {
	Cluster string `json:"cluster_id"`
	Term    uint64 `json:"term"`
	Leader  string `json:"leader,omitempty"`
	Peers   []Peer `json:"peers" nullable:"false"`

	ClocksDisagree bool `json:"clocks_disagree,omitempty" doc:"the wall clocks differ by more than 2 s, without a majority of peers that agrees: changes may be refused with clock_ahead"`
	Voters         int  `json:"voters" doc:"peers with a vote"`
	Standstill     bool `json:"standstill,omitempty" doc:"no job is started, since a restore from a backup or during an import: POST /cluster/resume ends that after a restore"`
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

	LastIndex      uint64   `json:"last_index,omitempty" doc:"of the newest entry in its log"`
	CommitIndex    uint64   `json:"commit_index,omitempty" doc:"of the newest entry that it knows as committed"`
	Lag            *uint64  `json:"lag_entries,omitempty" doc:"how far its state is behind the newest of the peers that answered, in log entries; absent if it did not answer"`
	LeaderContact  *float64 `json:"leader_contact_seconds,omitempty" doc:"time since it heard from a leader, 0 of a leader; absent if it did not answer"`
	UptimeSeconds  float64  `json:"uptime_seconds,omitempty" doc:"of its process"`
	MemoryBytes    uint64   `json:"memory_bytes,omitempty" doc:"resident memory of its process"`
	SnapshotIndex  uint64   `json:"snapshot_index,omitempty" doc:"of its newest snapshot; absent: there is none"`
	SnapshotAge    *float64 `json:"snapshot_age_seconds,omitempty"`
	SnapshotBytes  int64    `json:"snapshot_bytes,omitempty" doc:"of all snapshots that it keeps"`
	LogBytes       int64    `json:"log_bytes,omitempty" doc:"of its Raft log"`
	DiskFreeBytes  uint64   `json:"disk_free_bytes,omitempty" doc:"that it may still write in its data folder"`
	DiskTotalBytes uint64   `json:"disk_total_bytes,omitempty"`

	BackupEvery   float64  `json:"backup_every_seconds,omitempty" doc:"interval at which it makes backups; absent: it makes none, or did not answer"`
	BackupAge     *float64 `json:"backup_age_seconds,omitempty" doc:"of the newest backup in its folder; absent: there is none"`
	BackupFailure string   `json:"backup_failure,omitempty" doc:"why it could not make the last backup"`

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
