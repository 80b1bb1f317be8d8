package trust

import (
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/fsm/private"
	"github.com/berth-gpu/berth/fsm/smallfile"
)

// The files of a folder of keys and certificates, in PEM.
const (
	identityFile    = "identity.pem"    // private key and certificate of this machine
	authoritiesFile = "authorities.pem" // certificates of the authorities that this machine trusts, the issuing one first
	authorityFile   = "authority.key"   // private key of the authority; on peers only
	generationFile  = "generation"      // the highest generation that this machine has seen
	gossipFile      = "gossip.key"      // keys of gossip in hexadecimal digits, a line each; the first encrypts
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
	Authority   crypto.Signer // key of Authorities[0]; nil on nodes
	Generation  uint64        // the highest that was seen
	Gossip      [][]byte      // keys of gossip, the first of which encrypts; none: this machine takes no part
}

// Identity returns the identity of the machine's certificate.
func (m *Material) Identity() (Identity, error) { return identityOf(m.Certificate) }

// Issuer returns the authority that issues certificates. Its error is that this machine has no key for that.
func (m *Material) Issuer() (*Authority, error) {
	if m.Authority == nil || len(m.Authorities) == 0 {
		return nil, errors.New("this machine does not have the key of the authority: only peers issue certificates")
	}
	return OpenAuthority(m.Authorities[0], m.Authority)
}

// Save writes the material of a machine into a folder that only its owner may enter. Files are replaced one by one,
// each as a whole, the certificate last.
func Save(dir string, m *Material) error {
	if _, err := private.Folder(dir); err != nil {
		return err
	}
	var authorities []byte
	for _, c := range m.Authorities {
		authorities = append(authorities, encode(blockCertificate, c.Raw)...)
	}
	key, err := EncodeKey(m.Key)
	if err != nil {
		return err
	}
	write := func(name string, data []byte) error { return smallfile.WriteBytes(filepath.Join(dir, name), data) }
	if m.Authority != nil {
		secret, err := EncodeKey(m.Authority)
		if err != nil {
			return err
		}
		if err := write(authorityFile, secret); err != nil {
			return err
		}
	}
	if len(m.Gossip) > 0 {
		if err := write(gossipFile, encodeGossip(m.Gossip)); err != nil {
			return err
		}
	}
	return errors.Join(
		write(generationFile, []byte(strconv.FormatUint(m.Generation, 10)+"\n")),
		write(authoritiesFile, authorities),
		write(identityFile, append(key, encode(blockCertificate, m.Certificate.Raw)...)),
	)
}

// Load reads the material of a folder. Its error is [ErrEmpty] if there is none, and else names the file and what to
// do about it.
func Load(dir string) (*Material, error) {
	own, err := readFile(dir, identityFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	m := &Material{}
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
	if m.Generation, err = readGeneration(dir); err != nil {
		return err
	}
	m.Generation = max(m.Generation, own.Generation)
	if m.Gossip, err = readGossip(dir); err != nil {
		return err
	}
	secret, err := readFile(dir, authorityFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	keys, certificates, err = decode(secret)
	if err != nil || len(keys) != 1 || len(certificates) > 0 {
		return damaged(dir, authorityFile, "it does not hold one key", err)
	}
	m.Authority = keys[0]
	if _, err := m.Issuer(); err != nil {
		return damaged(dir, authorityFile, "the key is not that of the first certificate of "+authoritiesFile, nil)
	}
	return nil
}

// readGeneration returns the highest generation that a machine has seen; 0: none was stored.
func readGeneration(dir string) (uint64, error) {
	text, err := readFile(dir, generationFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	generation, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, damaged(dir, generationFile, "it does not hold one number", nil)
	}
	return generation, nil
}

// GossipKey is the size of a key of gossip, in bytes: AES-256.
const GossipKey = 32

// maxGossip bounds the keys of gossip: during a rotation there are two.
const maxGossip = 3

func encodeGossip(keys [][]byte) []byte {
	var out []byte
	for _, key := range keys {
		out = append(hex.AppendEncode(out, key), '\n')
	}
	return out
}

// readGossip returns the keys of gossip; none: there is no file.
func readGossip(dir string) ([][]byte, error) {
	text, err := readFile(dir, gossipFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for line := range strings.Lines(string(text)) {
		key, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil || len(key) != GossipKey || len(keys) == maxGossip {
			return nil, damaged(dir, gossipFile, fmt.Sprintf("it does not hold at most %d keys of %d hexadecimal digits", maxGossip, 2*GossipKey), nil)
		}
		keys = append(keys, key)
	}
	return keys, nil
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

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// EncodeKey returns a private key as PEM (PKCS #8).
func EncodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encode(blockKey, der), nil
}

// DecodeKey reads one private key from PEM.
func DecodeKey(text []byte) (crypto.Signer, error) {
	keys, certificates, err := decode(text)
	if err != nil || len(keys) != 1 || len(certificates) > 0 {
		return nil, errors.New("the text does not hold one private key")
	}
	return keys[0], nil
}

// decode reads the keys and certificates of a PEM text, which contains nothing else.
func decode(text []byte) (keys []crypto.Signer, certificates []*x509.Certificate, err error) {
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if len(strings.TrimSpace(string(rest))) > 0 {
				return nil, nil, errors.New("text that is not PEM")
			}
			return keys, certificates, nil
		}
		switch block.Type {
		case blockKey:
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, nil, err
			}
			signer, ok := key.(crypto.Signer)
			if !ok {
				return nil, nil, errors.New("a key that cannot sign")
			}
			keys = append(keys, signer)
		case blockCertificate:
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, nil, err
			}
			certificates = append(certificates, c)
		default:
			return nil, nil, fmt.Errorf("a block %q", clip(block.Type))
		}
	}
}

// EncodeCertificates returns certificates as PEM.
func EncodeCertificates(list ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range list {
		out = append(out, encode(blockCertificate, c.Raw)...)
	}
	return out
}

// DecodeCertificates reads certificates from PEM, at most so many.
func DecodeCertificates(text []byte, most int) ([]*x509.Certificate, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the certificates have %d bytes, more than %d", len(text), maxFile)
	}
	keys, list, err := decode(text)
	switch {
	case err != nil:
		return nil, err
	case len(keys) > 0 || len(list) == 0 || len(list) > most:
		return nil, fmt.Errorf("%d keys and %d certificates in place of 1 to %d certificates", len(keys), len(list), most)
	}
	return list, nil
}
