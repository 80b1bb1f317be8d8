package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// tokenPrefix begins every join token.
const tokenPrefix = "berth-join-"

// Sizes of the parts of a join token, in bytes.
const (
	tokenID     = 6
	tokenSecret = 16
)

// maxToken bounds the length of a token that is read, in bytes.
const maxToken = 256

// Token admits one machine to a cluster: berth-join-ROLE-ID-SECRET-PIN. The pin is the hash of the authority's key, by
// which the machine recognizes the cluster before it sends the secret.
type Token struct {
	Role   Role
	ID     string // 12 hexadecimal digits: names the token in lists, logs and the audit trail
	Secret string // 32 hexadecimal digits
	Pin    Pin
}

// NewToken draws a token for an authority.
func NewToken(role Role, pin Pin) Token {
	var id [tokenID]byte
	var secret [tokenSecret]byte
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(secret[:])
	return Token{Role: role, ID: hex.EncodeToString(id[:]), Secret: hex.EncodeToString(secret[:]), Pin: pin}
}

// String returns the token as administrators copy it.
func (t Token) String() string {
	return tokenPrefix + string(t.Role) + "-" + t.ID + "-" + t.Secret + "-" + hex.EncodeToString(t.Pin[:])
}

// Hash returns what the cluster keeps of the token.
func (t Token) Hash() [sha256.Size]byte {
	return sha256.Sum256([]byte(string(t.Role) + "-" + t.ID + "-" + t.Secret))
}

// Matches reports whether a hash is that of the token, in constant time.
func (t Token) Matches(hash [sha256.Size]byte) bool {
	own := t.Hash()
	return subtle.ConstantTimeCompare(own[:], hash[:]) == 1
}

var errToken = errors.New("this is not a join token: it has the form berth-join-ROLE-ID-SECRET-HASH and is printed by berth token join; copy it whole")

// ParseToken reads a token. Its error does not contain the text, which may be a secret of another kind.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	rest, found := strings.CutPrefix(text, tokenPrefix)
	parts := strings.Split(rest, "-")
	if !found || len(text) > maxToken || len(parts) != 4 {
		return Token{}, errToken
	}
	t := Token{Role: Role(parts[0]), ID: parts[1], Secret: parts[2]}
	if t.Role != RolePeer && t.Role != RoleNode {
		return Token{}, fmt.Errorf("the join token is for the role %q, and there are peer and node: copy the token whole", clip(string(t.Role)))
	}
	id, err := hex.DecodeString(t.ID)
	if err != nil || len(id) != tokenID {
		return Token{}, errToken
	}
	secret, err := hex.DecodeString(t.Secret)
	if err != nil || len(secret) != tokenSecret {
		return Token{}, errToken
	}
	pin, err := hex.DecodeString(parts[3])
	if err != nil || len(pin) != len(t.Pin) {
		return Token{}, errors.New("the join token is cut off or has other text after it: copy the token whole")
	}
	copy(t.Pin[:], pin)
	if t.String() != text {
		return Token{}, errToken
	}
	return t, nil
}
