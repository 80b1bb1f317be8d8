package wire

import "time"

// Audit is a page of the audit trail, newest first.
type Audit struct {
	ArchiveStanding

	Records []AuditRecord `json:"records" nullable:"false"`
	Next    uint64        `json:"next,omitempty" doc:"value of ?before= for the next page; absent: there are no more"`
	Missing uint64        `json:"missing,omitempty" doc:"records that this peer has not yet got from others"`
	Lost    uint64        `json:"lost,omitempty" doc:"records that no peer has"`
}

// AuditRecord is one requested change.
type AuditRecord struct {
	Seq      uint64         `json:"seq" doc:"numbers the records without gaps"`
	Index    uint64         `json:"index" doc:"of the log entry"`
	Time     time.Time      `json:"time" doc:"by the cluster's clock"`
	Actor    string         `json:"actor"`
	From     string         `json:"from,omitempty" doc:"the client's address at the peer that got the request"`
	Action   string         `json:"action"`
	Target   string         `json:"target,omitempty"`
	What     map[string]any `json:"what,omitempty" doc:"the change itself, of actions that hold no secrets"`
	Request  string         `json:"request_id,omitempty"`
	Result   string         `json:"result" doc:"ok, or the code of the refusal"`
	Detail   string         `json:"detail,omitempty"`
	Repeated bool           `json:"repeated,omitempty" doc:"the request was answered as before and nothing was done"`
	ByPeer   string         `json:"by_peer,omitempty" doc:"peer that wrote it to the log"`
}

// Refusals are the requests that one peer refused before they reached the log, newest first; or the
// reads of other users' data that it answered.
type Refusals struct {
	Peer     string    `json:"peer" doc:"peer that has refused or answered them"`
	Refusals []Refusal `json:"refusals" nullable:"false"`
	Next     uint64    `json:"next,omitempty" doc:"value of ?before= for the next page, at the same peer; absent: there are no older ones"`
}

// Refusal is a request that a peer has refused by itself, or, in the list of reads, a
// request that returned data of another user.
type Refusal struct {
	Time    time.Time `json:"time" doc:"by the peer's clock"`
	From    string    `json:"from,omitempty" doc:"the client's address at the peer that got the request"`
	Actor   string    `json:"actor,omitempty" doc:"as far as it is known"`
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Request string    `json:"request_id,omitempty"`
	Status  int       `json:"status"`
	Code    string    `json:"code"`
	Dropped uint64    `json:"dropped_before,omitempty" doc:"requests before this one that were not recorded because of their rate"`
	Seq     uint64    `json:"seq,omitempty" doc:"numbers the records of the peer without gaps"`
	Hash    string    `json:"chain_hash,omitempty" doc:"of this record and all before it"`
}

// AuditVerdict is the result of verifying the whole audit trail.
type AuditVerdict struct {
	OK       bool      `json:"ok" doc:"all records exist and match the cluster's state"`
	Peer     string    `json:"peer" doc:"whose archive it is"`
	Records  uint64    `json:"records" doc:"number of verified records"`
	Missing  uint64    `json:"missing" doc:"number of missing records"`
	FirstBad uint64    `json:"first_bad,omitempty" doc:"number of the first record that differs"`
	What     string    `json:"what,omitempty"`
	Head     AuditHead `json:"head"`

	Refusals *RequestsVerdict `json:"refusals,omitempty" doc:"of the peer itself"`
	Reads    *RequestsVerdict `json:"reads,omitempty" doc:"of other users' data, at the peer itself"`
}

// RequestsVerdict is the result of verifying the records that one peer keeps.
type RequestsVerdict struct {
	OK       bool   `json:"ok" doc:"all kept records exist and are unchanged"`
	Records  uint64 `json:"records" doc:"number of verified records"`
	FirstBad uint64 `json:"first_bad,omitempty" doc:"number of the first record that differs or is missing"`
	What     string `json:"what,omitempty"`
}

// AuditHead is the end of the trail in the cluster's state.
type AuditHead struct {
	Seq   uint64 `json:"seq"`
	Index uint64 `json:"index"`
	Hash  string `json:"hash"`
}
