package trust

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/files/smallfile"
)

// The files of a folder of keys and certificates, in PEM.
const (
	identityFile    = "identity.pem"    // private key and certificate of this machine
	authoritiesFile = "authorities.pem" // certificates of the authorities that this machine trusts, the issuing one first
	linkFile        = "link.pem"        // certificate of the issuing authority, signed by the one before; after a rotation only
	authorityFile   = "authority.key"   // private keys of the authorities; on peers only
	revisionFile    = "revision"        // of the cluster's trust that these files are
	generationFile  = "generation"      // the highest generation that this machine has seen
)

// Types of PEM blocks.
const (
	blockKey         = "PRIVATE KEY"
	blockCertificate = "CERTIFICATE"
)

// maxFile bounds a file that is read, in bytes.
const maxFile = 256 << 10

// ErrEmpty means that a folder holds no certificate: the machine has not joined a cluster.
var ErrEmpty = errors.New("this machine belongs to no cluster yet: found one with berth init, or join one with berth join")

// Material is what a machine keeps of a cluster.
type Material struct {
	Key         crypto.Signer
	Certificate *x509.Certificate
	Authorities []*x509.Certificate
	Link        *x509.Certificate // of the key of Authorities[0], signed by the authority before it; nil: none
	Keys        []crypto.Signer   // of authorities, that of Authorities[0] among them; none on nodes
	Generation  uint64            // the highest that was seen
	Revision    uint64            // of the cluster's trust, see [Bundle]
}

// Identity returns the identity of the machine's certificate.
func (m *Material) Identity() (Identity, error) { return identityOf(m.Certificate) }

// Issuer returns the authority that issues certificates. Its error is that this machine has no key for that.
func (m *Material) Issuer() (*Authority, error) {
	if len(m.Keys) == 0 || len(m.Authorities) == 0 {
		return nil, errors.New("this machine does not have the key of the authority: only peers issue certificates")
	}
	return issuerOf(m.Authorities[0], m.Keys)
}

// Save writes the material of a machine into a folder that only its owner may enter. Files are replaced one by one,
// each as a whole, the certificate and the revision last. In a folder without a certificate that is the last one: a folder with
// a part of the files is that of no member.
func Save(dir string, m *Material) error {
	if _, err := private.Folder(dir); err != nil {
		return err
	}
	key, err := EncodeKey(m.Key)
	if err != nil {
		return err
	}
	write := func(name string, data []byte) error { return smallfile.WriteBytes(filepath.Join(dir, name), data) }
	if len(m.Keys) > 0 {
		secret, err := encodeKeys(m.Keys)
		if err != nil {
			return err
		}
		if err := write(authorityFile, secret); err != nil {
			return err
		}
	}
	if err := saveLink(dir, m.Link); err != nil {
		return err
	}
	if err := SaveGeneration(dir, m.Generation); err != nil {
		return err
	}
	if err := write(authoritiesFile, EncodeCertificates(m.Authorities...)); err != nil {
		return err
	}
	identity := func() error { return write(identityFile, append(key, encode(blockCertificate, m.Certificate.Raw)...)) }
	revision := func() error { return write(revisionFile, []byte(strconv.FormatUint(m.Revision, 10)+"\n")) }
	if _, err := os.Stat(filepath.Join(dir, identityFile)); errors.Is(err, fs.ErrNotExist) {
		identity, revision = revision, identity
	}
	if err := identity(); err != nil {
		return err
	}
	return revision()
}

// Load reads the material of a folder. Its error is [ErrEmpty] if there is none, and else names the file and what to
// do about it.
func Load(dir string) (*Material, error) {
	revision, err := readNumber(dir, revisionFile) // first, since Save writes it last: all else is as new, or newer
	if err != nil {
		return nil, err
	}
	own, err := readFile(dir, identityFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	m := &Material{Revision: revision}
	keys, certificates, err := decode(own)
	if err != nil || len(keys) != 1 || len(certificates) != 1 {
		return nil, damaged(dir, identityFile, "it does not hold one key and one certificate", err)
	}
	m.Key, m.Certificate = keys[0], certificates[0]
	if _, err := OpenAuthority(m.Certificate, m.Key); err != nil {
		return nil, damaged(dir, identityFile, "key and certificate do not belong together", nil)
	}
	i, err := m.Identity()
	if err != nil {
		return nil, damaged(dir, identityFile, "the certificate names no member of a cluster", err)
	}
	return m, m.complete(dir, i)
}

// complete reads the other files of a folder.
func (m *Material) complete(dir string, own Identity) error {
	text, err := readFile(dir, authoritiesFile)
	if err != nil {
		return fmt.Errorf("%w: copy the file from a peer, or issue the certificate of this machine again with berth cert issue", err)
	}
	keys, certificates, err := decode(text)
	if err != nil || len(keys) > 0 || len(certificates) == 0 {
		return damaged(dir, authoritiesFile, "it does not hold the certificates of authorities", err)
	}
	m.Authorities = certificates
	if m.Generation, err = readNumber(dir, generationFile); err != nil {
		return err
	}
	if m.Link, err = readLink(dir); err != nil {
		return err
	}
	m.Generation = max(m.Generation, own.Generation)
	secret, err := readFile(dir, authorityFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	keys, certificates, err = decode(secret)
	if err != nil || len(keys) == 0 || len(certificates) > 0 {
		return damaged(dir, authorityFile, "it does not hold private keys", err)
	}
	m.Keys = keys
	if _, err := m.Issuer(); err != nil {
		return damaged(dir, authorityFile, "none of the keys is that of the first certificate of "+authoritiesFile, nil)
	}
	return nil
}

// readNumber returns the number in a file; 0: there is no such file.
func readNumber(dir, name string) (uint64, error) {
	text, err := readFile(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, damaged(dir, name, "it does not hold one number", nil)
	}
	return n, nil
}

// SaveGeneration stores the highest generation that this machine has seen.
func SaveGeneration(dir string, generation uint64) error {
	return smallfile.WriteBytes(filepath.Join(dir, generationFile), []byte(strconv.FormatUint(generation, 10)+"\n"))
}

func damaged(dir, name, why string, err error) error {
	if err != nil {
		why += ": " + err.Error()
	}
	return fmt.Errorf("%s is damaged: %s: restore the file from a backup, or issue the certificate of this machine again with berth cert issue", filepath.Join(dir, name), why)
}

// readFile reads a file that only its owner may read.
func readFile(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(), info.Size() > maxFile:
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxFile)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s is open to other users (mode %04o): chmod 600 %s", path, info.Mode().Perm(), path)
	}
	return os.ReadFile(path) //nolint:gosec // a file of the machine's own folder
}
