package model

import (
	"encoding/base64"
	"strings"
)

// Bounds of the settings of webhooks.
const (
	MaxAllow   = 1 << 10
	MaxBacklog = 10_000_000
)

// Notify is the cluster's settings of webhooks.
type Notify struct {
	Secret  string `cbor:"1,keyasint,omitempty"` // signs deliveries to the addresses of jobs and allocations; empty: unsigned
	Backlog uint32 `cbor:"2,keyasint,omitempty"` // tasks that wait from which on a notice is given; 0: none is
	Allow   string `cbor:"3,keyasint,omitempty"` // where webhooks may go: hosts, *.domain, networks, with commas; empty: anywhere but what is forbidden
}

// Validate checks the values.
func (n *Notify) Validate() error {
	switch {
	case n.Secret != "" && !KeptSecret(n.Secret):
		return want("secret", "whsec_ and 24 to 64 bytes in base64")
	case n.Backlog > MaxBacklog:
		return want("backlog", "at most %d", MaxBacklog)
	case !Text(n.Allow, MaxAllow):
		return want("allow", "at most %d bytes of text on one line", MaxAllow)
	}
	return nil
}

const (
	secretPrefix = "whsec_"
	maxSecret    = 256 // bytes of one that is sealed
)

// KeptSecret reports whether text is a secret to sign with, as the state keeps it: plain or sealed.
func KeptSecret(text string) bool {
	return HookSecret(text) || Sealed(text) && len(text) <= maxSecret
}

// HookSecret reports whether text is a secret to sign with.
func HookSecret(text string) bool {
	key := HookKey(text)
	return len(key) >= 24 && len(key) <= 64
}

// HookKey returns the key of a secret; nil if it is malformed.
func HookKey(secret string) []byte {
	text, found := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !found || err != nil {
		return nil
	}
	return key
}

// NewHookSecret returns a secret of random bytes.
func NewHookSecret(random [32]byte) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(random[:])
}
