package devcluster

import (
	"crypto/x509"
	"errors"
	"path/filepath"
	"time"

	"github.com/berth-gpu/berth/trust"
)

// Certify gives each member that has none a key and a certificate, in its own folder below dir. The members are of one
// cluster, which is made with the first of them. Names are the ids of peers and nodes.
func Certify(dir string, members ...Member) error {
	var known *trust.Material
	for _, m := range members {
		got, err := trust.Load(trustFolder(dir, m))
		switch {
		case errors.Is(err, trust.ErrEmpty):
		case err != nil:
			return err
		case m.Role == RoleServer && known == nil:
			known = got
		}
	}
	for _, m := range members {
		if err := certify(dir, m, &known); err != nil {
			return err
		}
	}
	return nil
}

// certify gives a member a certificate, unless it has one that is valid for a while.
func certify(dir string, m Member, known **trust.Material) error {
	folder, now := trustFolder(dir, m), time.Now()
	if got, err := trust.Load(folder); err == nil && now.Before(got.Certificate.NotAfter.Add(-trust.Life/2)) {
		return nil
	}
	role := trust.RoleNode
	if m.Role == RoleServer {
		role = trust.RolePeer
	}
	var own *trust.Material
	var err error
	if *known == nil {
		own, err = trust.Found(trust.Member{Name: m.Name}, now)
		*known = own
	} else {
		own, err = (*known).Certify(trust.Member{Role: role, Name: m.Name}, now)
	}
	if err != nil {
		return err
	}
	return trust.Save(folder, own)
}

func trustFolder(dir string, m Member) string { return filepath.Join(dir, m.Name, trust.Subfolder) }

// Authorities returns the authorities of the cluster, by which clients recognize the peers.
func (c *Cluster) Authorities() ([]*x509.Certificate, error) {
	m, err := trust.Load(trustFolder(c.Folder(), c.Members()[0]))
	if err != nil {
		return nil, err
	}
	return m.Authorities, nil
}
