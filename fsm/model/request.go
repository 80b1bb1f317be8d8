package model

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// RequestKept is how long a request id is remembered, unless its actor has used
// more ids since than its share.
const RequestKept = 24 * time.Hour

// Request remembers that a command with a request id was carried out, and its result.
// Refused commands are not remembered: they changed nothing.
//
//berth:row
type Request struct {
	Key  RequestKey `cbor:"1,keyasint,omitempty"`
	Kind uint16     `cbor:"2,keyasint,omitempty"` // of the command
	Body [16]byte   `cbor:"3,keyasint,omitempty"` // start of the body's SHA-256
	Born Time       `cbor:"4,keyasint,omitempty"` // Key.Drawn, or when the command was applied if that is 0

	Index  uint64 `cbor:"5,keyasint,omitempty"` // of the log entry that carried the command out
	Job    JobID  `cbor:"7,keyasint,omitempty"`
	Number uint64 `cbor:"8,keyasint,omitempty"`
}

// RequestKey identifies a request id of an actor. The order of keys lists each actor's ids
// without a time first, then the others by time.
type RequestKey struct {
	Actor string   `cbor:"1,keyasint,omitempty"`
	Drawn Time     `cbor:"2,keyasint,omitempty"` // when the id was drawn, by the UUIDv7 that it is; 0: the id has no usable time
	ID    [16]byte `cbor:"3,keyasint,omitempty"` // start of the id's SHA-256: a quarter of the memory of the text
}

// Compare orders by actor, then time, then id.
func (k RequestKey) Compare(o RequestKey) int {
	if by := cmp.Or(cmp.Compare(k.Actor, o.Actor), cmp.Compare(k.Drawn, o.Drawn)); by != 0 {
		return by
	}
	return bytes.Compare(k.ID[:], o.ID[:])
}

// RequestID is a request id as rows hold it.
type RequestID struct {
	Hash  [16]byte // start of the text's SHA-256
	Drawn Time     // by a UUIDv7; 0 for any other text
}

// ParseRequestID returns the form of a request id in rows. The time of a UUIDv7 is its first 48 bits, in
// milliseconds since 1970 (RFC 9562, section 5.7).
func ParseRequestID(text string) RequestID {
	sum := sha256.Sum256([]byte(text))
	id := RequestID{Hash: [16]byte(sum[:16])}
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[14] != '7' || text[18] != '-' || text[23] != '-' {
		return id
	}
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil {
		return id
	}
	var ms int64
	for _, v := range b[:6] {
		ms = ms<<8 | int64(v)
	}
	const nsPerMs = 1_000_000
	if most := int64(1<<63-1) / nsPerMs; ms <= most {
		id.Drawn = Time(ms * nsPerMs)
	}
	return id
}

// RequestUse counts the remembered request ids of an actor.
//
//berth:row
type RequestUse struct {
	Actor   string `cbor:"1,keyasint,omitempty"`
	Timed   uint32 `cbor:"2,keyasint,omitempty"` // ids whose key has a time
	Untimed uint32 `cbor:"3,keyasint,omitempty"` // the others
	From    Time   `cbor:"4,keyasint,omitempty"` // ids drawn earlier may be forgotten; 0: RequestsFrom of the settings counts
}

// ActorName is an actor as a key: "user:alice".
type ActorName string

// Compare orders by bytes.
func (a ActorName) Compare(o ActorName) int { return cmp.Compare(a, o) }

// Requests counts the request ids of all actors.
type Requests struct {
	Untimed uint64 `cbor:"1,keyasint,omitempty"` // remembered ids without a time
	Early   uint64 `cbor:"2,keyasint,omitempty"` // ids that were forgotten before RequestKept was over, ever
}
