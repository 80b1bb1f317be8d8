package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// tokenPrefix begins every join token.
const tokenPrefix = "berth-join-"

// secretSize is the size of the secret of a join token, in bytes.
const secretSize = 16

// maxToken bounds the length of a token that is read, in bytes.
const maxToken = 256

// Token admits one machine to a cluster: berth-join-ROLE-SECRET-PIN. The pin is the hash of the authority's key, by
// which the machine recognizes the cluster before it sends the secret.
type Token struct {
	Role   Role
	Secret string // 32 hexadecimal digits
	Pin    Pin
}

// NewToken draws a token for the cluster of an authority.
func NewToken(role Role, pin Pin) Token {
	var secret [secretSize]byte
	_, _ = rand.Read(secret[:]) // never fails
	return Token{Role: role, Secret: hex.EncodeToString(secret[:]), Pin: pin}
}

// String returns the token as administrators copy it.
func (t Token) String() string { return t.Credential() + "-" + hex.EncodeToString(t.Pin[:]) }

// Credential returns what a machine that joins sends: the token without the pin.
func (t Token) Credential() string { return tokenPrefix + string(t.Role) + "-" + t.Secret }

// Hash returns what the cluster keeps of the token.
func (t Token) Hash() [sha256.Size]byte { return sha256.Sum256([]byte(t.Credential())) }

var errToken = errors.New("this is not a join token: one has the form berth-join-ROLE-SECRET-HASH and is printed by berth token join; copy the token whole")

// ParseToken reads a token. Its error does not contain the text, which may be a secret of another kind.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	rest, found := strings.CutPrefix(text, tokenPrefix)
	parts := strings.Split(rest, "-")
	if !found || len(text) > maxToken || len(parts) != 3 {
		return Token{}, errToken
	}
	t := Token{Role: Role(parts[0]), Secret: parts[1]}
	if t.Role != RolePeer && t.Role != RoleNode {
		return Token{}, fmt.Errorf("the join token is for the role %q, and there are peer and node: copy the token whole", clip(string(t.Role)))
	}
	secret, err := hex.DecodeString(t.Secret)
	if err != nil || len(secret) != secretSize {
		return Token{}, errToken
	}
	pin, err := hex.DecodeString(parts[2])
	if err != nil || len(pin) != len(t.Pin) {
		return Token{}, errors.New("the join token is cut off or has other text after it: copy the token whole")
	}
	copy(t.Pin[:], pin)
	if t.String() != text {
		return Token{}, errToken
	}
	return t, nil
}
