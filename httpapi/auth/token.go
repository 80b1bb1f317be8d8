package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/berth-gpu/berth/fsm/model"
)

// Prefix begins every token, so that people and programs that look for leaked
// secrets know one when they see it.
const Prefix = "berth_"

// The headers in which somebody shows who they are, beside Authorization and the one
// that the configuration names.
const (
	HeaderToken = "X-Auth-Token" //nolint:gosec // a header's name
	HeaderKey   = "X-API-Key"
)

// maxSecret bounds what is taken for a token or a key, in bytes.
const maxSecret = 512

// NewToken draws a token: 256 random bits.
func NewToken() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return Prefix + base64.RawURLEncoding.EncodeToString(bits[:])
}

// NewSecret draws what peers know each other by.
func NewSecret() (s model.Secret) {
	_, _ = rand.Read(s[:]) // it never fails
	return s
}

// HashOf is what is kept of a token or a key. It is looked up by, so that how long
// that takes tells nothing of the secrets that there are.
func HashOf(secret string) model.Hash { return sha256.Sum256([]byte(secret)) }

// ID names a token to people: the beginning of its hash.
func ID(h model.Hash) string { return hex.EncodeToString(h[:8]) }

// Presented is the token or key that a request shows; empty: none. The named header, if
// any, counts before the others.
func Presented(h http.Header, named string) string {
	for _, name := range []string{named, HeaderToken, HeaderKey} {
		if name == "" {
			continue
		}
		if secret := h.Get(name); secret != "" {
			return clean(secret)
		}
	}
	scheme, secret, found := strings.Cut(h.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return clean(secret)
}

func clean(secret string) string {
	if secret = strings.TrimSpace(secret); len(secret) > maxSecret {
		return secret[:maxSecret] // which is nobody's
	}
	return secret
}

// strip takes all secrets out of a request.
func strip(h http.Header, named string) {
	for _, name := range []string{named, HeaderToken, HeaderKey, "Authorization", "Cookie"} {
		if name != "" {
			h.Del(name)
		}
	}
}
