package upgrade

import (
	"cmp"
	"strconv"
	"strings"
)

// release is the first two numbers of a version by semantic versioning (https://semver.org), and the rest.
type release struct {
	major, minor, patch uint64
	pre                 string // of a version before the release, such as that of a build between two releases
}

// parseVersion returns a version such as v1.4.2; false for one that is not of that form, such as that of a build from a work tree.
func parseVersion(version string) (r release, ok bool) {
	text, found := strings.CutPrefix(version, "v")
	text, _, _ = strings.Cut(text, "+")
	text, r.pre, _ = strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if !found || len(parts) != 3 {
		return r, false
	}
	for i, to := range []*uint64{&r.major, &r.minor, &r.patch} {
		n, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil {
			return r, false
		}
		*to = n
	}
	return r, true
}

// Older reports whether a version is older than another. Of versions that are not of releases or of builds between releases, that is
// not known, and Older returns false.
func Older(a, b string) bool {
	x, okX := parseVersion(a)
	y, okY := parseVersion(b)
	if !okX || !okY {
		return false
	}
	order := cmp.Or(cmp.Compare(x.major, y.major), cmp.Compare(x.minor, y.minor), cmp.Compare(x.patch, y.patch))
	if order == 0 && x.pre != y.pre {
		switch {
		case x.pre == "":
			return false
		case y.pre == "":
			return true
		}
		order = cmp.Compare(x.pre, y.pre) // the times of builds, which have as many digits
	}
	return order < 0
}

// The rules of upgrades.
const (
	PeersApart  = 1 // minor releases or feature levels between two peers, at most
	AgentsApart = 2 // minor releases between an agent and a peer, at most
)

// Apart returns how many minor releases lie between two versions; false if that is not known: one is not of a release, or
// they have different major numbers and the distance depends on how many releases the smaller major number had. Builds
// before the first release (v0.0.0) have no distance either.
func Apart(a, b string) (minors int, known bool) {
	x, okX := parseVersion(a)
	y, okY := parseVersion(b)
	if !okX || !okY || x.major != y.major || x.major == 0 && (x.minor == 0 || y.minor == 0) {
		return 0, false
	}
	if x.minor > y.minor {
		return int(x.minor - y.minor), true
	}
	return int(y.minor - x.minor), true
}

// Differs reports whether a version is to be replaced by the newest: it is older, or which of the two is older cannot be known.
func Differs(version, newest string) bool {
	return version != newest && !Older(newest, version)
}

// NewestVersion returns the version of the newest program: of those that know the greatest level, the one that is not older than
// another; where that cannot be known, the one whose process began last.
func (c *Cluster) NewestVersion() string {
	var best Peer
	for _, p := range c.Peers {
		if best.ID == "" || p.Level > best.Level || p.Level == best.Level &&
			(Older(best.Version, p.Version) || !Older(p.Version, best.Version) && p.Began > best.Began) {
			best = p
		}
	}
	return best.Version
}

// Old reports whether a peer is to be upgraded.
func (c *Cluster) Old(p Peer) bool {
	return p.Level < c.Newest() || Differs(p.Version, c.NewestVersion())
}
