package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
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

// ErrTwoCredentials says that a request shows two tokens or keys that differ. A proxy in
// front of the API may have checked the other one.
var ErrTwoCredentials = errors.New("the request shows two different tokens or keys: send one of them, once")

// Presented returns the token or key that a request shows, in Authorization: Bearer, in
// one of the other headers, or in the one that is named; empty: none. Headers that
// differ, and one header with two values, are [ErrTwoCredentials].
func Presented(h http.Header, named string) (secret string, err error) {
	var all []string
	for _, name := range []string{named, HeaderToken, HeaderKey} {
		if name != "" && name != headerAuthorization {
			all = append(all, h.Values(name)...)
		}
	}
	list := h.Values(headerAuthorization)
	for _, value := range list {
		if value != list[0] {
			return "", ErrTwoCredentials
		}
		if scheme, token, found := strings.Cut(value, " "); found && strings.EqualFold(scheme, "Bearer") {
			all = append(all, token)
		} else if named == headerAuthorization {
			all = append(all, value)
		}
	}
	for _, one := range all {
		switch one = clean(one); {
		case one == "" || one == secret:
		case secret != "":
			return "", ErrTwoCredentials
		default:
			secret = one
		}
	}
	return secret, nil
}

const headerAuthorization = "Authorization"

func clean(secret string) string {
	if secret = strings.TrimSpace(secret); len(secret) > maxSecret {
		return secret[:maxSecret] // which is nobody's
	}
	return secret
}

// strip takes all secrets out of a request.
func strip(h http.Header, named string) {
	for _, name := range []string{named, HeaderToken, HeaderKey, headerAuthorization, "Cookie"} {
		if name != "" {
			h.Del(name)
		}
	}
}
