package model

// AuditHead is the head of the audit trail: the number of records, and a hash over all of them.
type AuditHead struct {
	Seq   uint64 `cbor:"1,keyasint,omitempty"` // of the newest record; the first is 1
	Index uint64 `cbor:"2,keyasint,omitempty"` // of the log entry that the newest record is about
	Hash  Hash   `cbor:"3,keyasint,omitempty"`
}

// AuditRecord is one requested change and its outcome.
type AuditRecord struct {
	Seq   uint64 `cbor:"1,keyasint,omitempty"` // numbers the records without gaps, from 1
	Index uint64 `cbor:"2,keyasint,omitempty"` // of the log entry
	At    Time   `cbor:"3,keyasint,omitempty"` // by the cluster's clock
	By    string `cbor:"4,keyasint,omitempty"` // the peer that proposed it

	Actor   string `cbor:"5,keyasint,omitempty"`  // "user:alice", "node:gpu1", "peer:p2"
	From    string `cbor:"6,keyasint,omitempty"`  // the client's address as the peer saw it that took the request
	Kind    uint16 `cbor:"7,keyasint,omitempty"`  // of the command
	Target  string `cbor:"8,keyasint,omitempty"`  // what it is about: "job 17", "node gpu1", "user alice"
	Request string `cbor:"9,keyasint,omitempty"`  // request id
	Body    []byte `cbor:"10,keyasint,omitempty"` // the command's encoded body, of kinds that hold no secrets

	Code   Code   `cbor:"11,keyasint,omitempty"` // the result's
	Detail string `cbor:"12,keyasint,omitempty"` // of a refusal
	Repeat bool   `cbor:"13,keyasint,omitempty"` // the request had been answered before; it was answered so again and nothing was done
}
