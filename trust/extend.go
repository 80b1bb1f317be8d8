package trust

import (
	"fmt"
	"time"
)

// Extend renews the expired certificate of a peer by the authority's key in its folder, under the same name and with the same key: after a
// cluster was off for longer than its certificates live, no peer is there that could make a join token. It does nothing where the
// certificate counts, and where the folder is not that of a peer with a valid authority. The new certificate counts as issued when the
// former one was, so a revocation of that one holds for it, too; once the peer runs, it gets another as usual, which the cluster records.
func Extend(dir string, now time.Time) (extended bool, err error) {
	m, err := Load(dir)
	if err != nil {
		return false, nil //nolint:nilerr // Open says what is wrong with the folder
	}
	own, err := m.Identity()
	if err != nil || own.Role != RolePeer || len(m.Keys) == 0 || !now.After(m.Certificate.NotAfter) {
		return false, err
	}
	authority, err := m.Issuer()
	if err != nil {
		return false, err
	}
	switch root := authority.Certificate; {
	case now.After(root.NotAfter):
		return false, fmt.Errorf("the certificate in %s expired at %s, and that of the authority at %s: this machine's clock shows %s; correct the clock, or restore the cluster from a backup with other keys",
			dir, stamp(m.Certificate.NotAfter), stamp(root.NotAfter), stamp(now))
	case m.Certificate.CheckSignatureFrom(root) != nil: // of an authority that was replaced while the machine was away
		return false, nil
	}
	issued, next := IssuedAt(m.Certificate), *m
	next.Certificate, err = authority.Issue(Terms{
		Identity: own, Key: m.Key.Public(), Names: NamesOf(m.Certificate), Now: issued, Life: now.Sub(issued) + LifeOf(m.Certificate),
	})
	if err != nil {
		return false, err
	}
	return true, Save(dir, &next)
}
