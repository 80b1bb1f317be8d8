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

// Prefix begins every token, so that people and programs that look for leaked secrets recognize
// one.
const Prefix = "berth_"

// The headers that can carry a credential, in addition to Authorization and the one that the
// configuration names.
const (
	HeaderToken = "X-Auth-Token" //nolint:gosec // a header's name
	HeaderKey   = "X-API-Key"
)

// Bounds of the length of a credential that is read, in bytes.
const (
	maxSecret = 512      // of a token or a key
	maxJWT    = 16 << 10 // of a token of the identity provider, which has the user's groups
)

// NewToken draws a token: 256 random bits.
func NewToken() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return Prefix + base64.RawURLEncoding.EncodeToString(bits[:])
}

// HashOf returns the hash under which a token or a key is kept. Lookups go by the hash, so that
// their time reveals nothing about existing secrets.
func HashOf(secret string) model.Hash { return sha256.Sum256([]byte(secret)) }

// ID returns the id of a token for users: the beginning of its hash.
func ID(h model.Hash) string { return hex.EncodeToString(h[:8]) }

// ErrTwoCredentials is the error of a request with two different tokens or keys. A proxy in front
// of the API may have checked the other one.
var ErrTwoCredentials = errors.New("the request contains two different tokens or keys: send one of them, once")

// Presented returns the token or key of a request, from Authorization: Bearer, from one of the
// other headers, or from the named one; empty: none. Headers that differ, and one header with two
// values, are [ErrTwoCredentials].
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
	secret = strings.TrimSpace(secret)
	most := maxSecret
	if IsJWT(secret) {
		most = maxJWT
	}
	if len(secret) > most {
		return secret[:most] // which is not that of any user
	}
	return secret
}

// IsJWT reports whether a credential has the form of a signed JWT (RFC 7519, compact): three parts, of which the first is a JSON object.
func IsJWT(secret string) bool {
	return strings.HasPrefix(secret, "eyJ") && strings.Count(secret, ".") == 2
}

// CookieName returns the name of the cookie that holds a session of a cluster. Cookies of a host are sent to all its ports: the cluster's
// id keeps clusters on one host apart. Over TLS the prefix has browsers refuse the cookie unless this host has set it, over TLS and for all
// paths (RFC 6265bis, 4.1.3.2).
func CookieName(cluster string, secure bool) string {
	name := "berth-" + cluster
	if secure {
		return "__Host-" + name
	}
	return name
}

// InCookie returns the session in the cookie of a name; empty: there is none, or there are several.
func InCookie(r *http.Request, name string) (secret string) {
	for _, c := range r.CookiesNamed(name) {
		if one := clean(c.Value); secret == "" {
			secret = one
		} else if secret != one {
			return ""
		}
	}
	return secret
}
