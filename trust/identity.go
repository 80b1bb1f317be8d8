package trust

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Role is what the holder of a certificate may do.
type Role string

// The roles.
const (
	RolePeer Role = "peer" // takes part in Raft and serves the API
	RoleNode Role = "node" // an agent: acts for the node of its name
)

const (
	scheme      = "berth"
	clusterSize = 16 // bytes
	maxName     = 128

	// maxGeneration bounds generations: each is one recovery or restore, and one that ends the numbers would be the last.
	maxGeneration = 1_000_000
)

// Identity is what a certificate says about its holder.
type Identity struct {
	Cluster    string // 32 hexadecimal digits
	Generation uint64 // from 1
	Role       Role
	Name       string // the id of a peer or of a node
}

// String returns the identity as certificates contain it: berth://CLUSTER/gGENERATION/ROLE/NAME.
func (i Identity) String() string {
	return fmt.Sprintf("%s://%s/g%d/%s/%s", scheme, i.Cluster, i.Generation, i.Role, url.PathEscape(i.Name))
}

// Check returns why an identity cannot be certified.
func (i Identity) Check() error {
	switch {
	case !ValidCluster(i.Cluster):
		return fmt.Errorf("cluster %q is not %d hexadecimal digits", clip(i.Cluster), 2*clusterSize)
	case i.Generation == 0:
		return errors.New("generation 0: generations count from 1")
	case i.Generation > maxGeneration:
		return fmt.Errorf("generation %d: at most %d are possible, one for each recovery or restore; "+
			"choose the next number that was not used", i.Generation, maxGeneration)
	case i.Role != RolePeer && i.Role != RoleNode:
		return fmt.Errorf("role %q is neither %s nor %s", clip(string(i.Role)), RolePeer, RoleNode)
	case !validName(i.Name):
		return fmt.Errorf("name %q is not 1 to %d bytes of text", clip(i.Name), maxName)
	}
	return nil
}

// ValidCluster reports whether an id is that of a cluster: 128 bits as lower-case hexadecimal digits.
func ValidCluster(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == clusterSize && strings.ToLower(id) == id
}

// validName reports whether a name is 1 to 128 bytes of text without control characters and outer spaces.
func validName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxName && utf8.ValidString(name) && strings.TrimSpace(name) == name &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) })
}

// ParseIdentity reads the URI of a certificate.
func ParseIdentity(u *url.URL) (Identity, error) {
	parts := strings.Split(u.EscapedPath(), "/")
	if u.Scheme != scheme || len(parts) != 4 || parts[0] != "" {
		return Identity{}, fmt.Errorf("%q is not berth://CLUSTER/gGENERATION/ROLE/NAME", clip(u.String()))
	}
	digits, found := strings.CutPrefix(parts[1], "g")
	generation, err := strconv.ParseUint(digits, 10, 64)
	if !found || err != nil {
		return Identity{}, fmt.Errorf("%q has no generation", clip(u.String()))
	}
	name, err := url.PathUnescape(parts[3])
	if err != nil {
		return Identity{}, fmt.Errorf("%q: %w", clip(u.String()), err)
	}
	i := Identity{Cluster: u.Host, Generation: generation, Role: Role(parts[2]), Name: name}
	if err := i.Check(); err != nil {
		return Identity{}, err
	}
	if again := i.String(); again != u.String() { // one identity has one form
		return Identity{}, fmt.Errorf("%q is not in the form %q", clip(u.String()), again)
	}
	return i, nil
}

// clip shortens a text of another machine for a message.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
