package wire

import "time"

// Upgrade is the answer to GET /cluster/upgrade: which members are to be upgraded, and whether the feature level is held.
type Upgrade struct {
	Level      uint32 `json:"level" doc:"the feature level of the cluster: what is newer is not used, and a program that does not know it cannot run"`
	Newest     uint32 `json:"newest_level" doc:"the greatest level that the program of any peer knows"`
	Version    string `json:"newest_version" doc:"the newest version that a peer runs"`
	AnsweredBy string `json:"answered_by"`
	Voters     int    `json:"voters"`
	Tolerates  int    `json:"tolerates" doc:"how many more voters may fail before the cluster stops; negative: it has stopped"`

	Hold    *Hold          `json:"hold,omitempty" doc:"absent: the level cannot rise, or rises at once"`
	Members []UpgradeState `json:"members" nullable:"false" doc:"peers, then nodes"`
	Next    []Member       `json:"next" nullable:"false" doc:"members that are to be upgraded, in this order: peers that follow, the leader, nodes"`

	Blockers []string `json:"blockers" nullable:"false" doc:"what keeps the level from being raised by POST /cluster/upgrade/finalize"`
	Broken   []string `json:"broken_rules" nullable:"false" doc:"members whose programs are too far apart"`
	Restart  *Restart `json:"restart,omitempty" doc:"the peer that has the lock for restarts"`
}

// Hold is the time for which the level does not rise by itself.
type Hold struct {
	Next    uint32    `json:"next_level" doc:"to which the level rises then"`
	Until   time.Time `json:"until,omitzero" doc:"absent, or earlier than the end, while a peer is silent"`
	Seconds float64   `json:"seconds" doc:"until then"`
	Silent  []string  `json:"silent" nullable:"false" doc:"peers that did not report of late when they were upgraded: the level is held until they do"`
}

// UpgradeState is a member and its program.
type UpgradeState struct {
	Member

	Version    string    `json:"version,omitempty"`
	Level      uint32    `json:"level,omitempty" doc:"the greatest feature level that the program of the peer knows"`
	Leader     bool      `json:"leader,omitempty"`
	Voter      bool      `json:"voter,omitempty"`
	Up         bool      `json:"up" doc:"it was heard within seconds"`
	CaughtUp   bool      `json:"caught_up,omitempty" doc:"the peer lacks next to nothing of the log"`
	UpgradedAt time.Time `json:"upgraded_at,omitzero" doc:"when the program of the peer began to know its level; absent: it joined with that"`
	StartedAt  time.Time `json:"started_at,omitzero" doc:"when the process of the peer began"`
	Old        bool      `json:"old" doc:"it runs an older version than the newest, or another one if which is older cannot be known"`
	Restart    bool      `json:"may_restart" doc:"it may be restarted now, with the same program or with another one"`
	Waits      string    `json:"restart_waits_for,omitempty" doc:"why it may not"`
	Back       bool      `json:"may_step_back" doc:"the program of the peer may be replaced by one that knows a lower level, but no lower one than the cluster's"`
}

// RestartLock is the body of POST /cluster/upgrade/lock and /cluster/upgrade/unlock.
type RestartLock struct {
	Peer    string `json:"peer" maxLength:"128" doc:"the peer that is to be restarted"`
	Key     string `json:"key" minLength:"1" maxLength:"64" doc:"of what restarts the peer: a random text"`
	Seconds int    `json:"seconds,omitempty" minimum:"1" maximum:"3600" doc:"for which the lock holds at most; absent: 600"`
}

// Restart is a peer that has the lock for restarts.
type Restart struct {
	Peer  string    `json:"peer"`
	Until time.Time `json:"until" doc:"end of the lock, if it is not freed before"`
}
