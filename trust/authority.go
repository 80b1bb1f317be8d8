package trust

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"time"
)

// Lifetimes of certificates.
const (
	AuthorityLife = 10 * 365 * 24 * time.Hour
	Life          = 90 * 24 * time.Hour // of peers and nodes, renewed at half of it

	// Backdate is how long before its issue a certificate is valid: the clocks of machines differ.
	Backdate = time.Hour
)

// NewCluster draws the id of a new cluster.
func NewCluster() string {
	var b [clusterSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// NewKey draws a private key for a certificate: ECDSA on P-256, which browsers also accept.
func NewKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// Authority is the certificate authority of a cluster.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority makes an authority for a cluster, valid from an hour before now for ten years.
func NewAuthority(cluster string, now time.Time) (*Authority, error) {
	if !ValidCluster(cluster) {
		return nil, fmt.Errorf("cluster %q is not %d hexadecimal digits", clip(cluster), 2*clusterSize)
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	template := authorityTemplate(cluster, now)
	a := &Authority{Certificate: template, key: key}
	a.Certificate, err = a.sign(template, key.Public())
	return a, err
}

// authorityTemplate returns what the certificate of an authority says.
func authorityTemplate(cluster string, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{Organization: []string{"Berth"}, CommonName: "Berth cluster " + cluster},
		NotBefore:             now.Add(-Backdate).UTC(),
		NotAfter:              now.Add(AuthorityLife).UTC(),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLen:            1, // its successor
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		URIs:                  []*url.URL{{Scheme: scheme, Host: cluster}},
	}
}

// sign returns the certificate of a key.
func (a *Authority) sign(template *x509.Certificate, key crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// OpenAuthority returns the authority of a certificate and its key. Its error says that they do not belong together.
func OpenAuthority(certificate *x509.Certificate, key crypto.Signer) (*Authority, error) {
	if !belongs(certificate.PublicKey, key) {
		return nil, errors.New("the key is not that of the authority's certificate")
	}
	return &Authority{Certificate: certificate, key: key}, nil
}

// Key returns the private key, for the folders of peers.
func (a *Authority) Key() crypto.Signer { return a.key }

// Terms are what a new certificate says.
type Terms struct {
	Identity Identity
	Key      crypto.PublicKey
	Names    []string // host names and addresses of a peer, for browsers and other programs that do not know identities
	Now      time.Time
	Life     time.Duration // 0: [Life]
}

// errNames means that the certificate of a node is to have host names.
var errNames = errors.New("the certificate of a node has no host names: with one, the node could pass for the server of that name")

// Issue issues a certificate: that of a peer for servers and clients alike, and that of a node for clients only, without the name
// of any host, so that no program takes a node for a server. It does not outlive the authority.
func (a *Authority) Issue(t Terms) (*x509.Certificate, error) {
	if err := t.Identity.Check(); err != nil {
		return nil, err
	}
	if cluster := a.Cluster(); cluster != t.Identity.Cluster {
		return nil, fmt.Errorf("the authority of cluster %s issues no certificate for cluster %s", cluster, t.Identity.Cluster)
	}
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if t.Identity.Role == RoleNode {
		if usage = usage[1:]; len(t.Names) > 0 {
			return nil, errNames
		}
	}
	life := t.Life
	if life == 0 {
		life = Life
	}
	template := &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{Organization: []string{"Berth"}, CommonName: string(t.Identity.Role) + " " + clip(t.Identity.Name)},
		NotBefore:             t.Now.Add(-Backdate).UTC(),
		NotAfter:              earlier(t.Now.Add(life), a.Certificate.NotAfter).UTC(),
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           usage,
	}
	var err error
	if template.URIs, err = uris(t.Identity.String()); err != nil {
		return nil, err
	}
	if len(template.Subject.CommonName) > 64 { // RFC 5280, ub-common-name
		template.Subject.CommonName = string(t.Identity.Role) + " of Berth" // no host name: some programs compare it with one
	}
	for _, name := range t.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return a.sign(template, t.Key)
}

// Cluster returns the id of the authority's cluster; empty: the certificate names none.
func (a *Authority) Cluster() string { return ClusterOf(a.Certificate) }

// ClusterOf returns the cluster that the certificate of an authority names.
func ClusterOf(authority *x509.Certificate) string {
	if len(authority.URIs) != 1 || authority.URIs[0].Scheme != scheme || !ValidCluster(authority.URIs[0].Host) {
		return ""
	}
	return authority.URIs[0].Host
}

// uris returns the URIs of a certificate.
func uris(text string) ([]*url.URL, error) {
	u, err := url.Parse(text)
	return []*url.URL{u}, err
}

// newSerial draws the serial number of a certificate: 127 random bits.
func newSerial() *big.Int {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] = b[0]&0x7f | 0x01
	return new(big.Int).SetBytes(b[:])
}

// Serial returns the serial number of a certificate as text.
func Serial(c *x509.Certificate) string { return hex.EncodeToString(c.SerialNumber.Bytes()) }

// Pin is the hash by which a machine that joins knows the authority: SHA-256 of the public key (RFC 7469, section 2.4).
type Pin [sha256.Size]byte

// PinOf returns the pin of an authority's certificate.
func PinOf(authority *x509.Certificate) Pin { return sha256.Sum256(authority.RawSubjectPublicKeyInfo) }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
