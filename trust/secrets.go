package trust

import (
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/files/smallfile"
)

// Files of secrets that are not in use yet: the next ones of a rotation that is about to begin.
const (
	nextAuthorityFile = "next-authority.key"
	nextSealingFile   = "next-sealing.key" // until the peer has stored them outside of its data folder
)

// Secrets are the private parts of what a cluster trusts. Peers have all of them, nodes none.
type Secrets struct {
	Authorities []crypto.Signer
	Sealing     [][]byte // by which texts of users are sealed; their file is outside of the folder
}

// And returns these secrets and others, each once.
func (s *Secrets) And(others *Secrets) *Secrets {
	all := &Secrets{slices.Clone(s.Authorities), and(s.Sealing, others.Sealing)}
	for _, key := range others.Authorities {
		if !slices.ContainsFunc(all.Authorities, func(k crypto.Signer) bool { return belongs(k.Public(), key) }) {
			all.Authorities = append(all.Authorities, key)
		}
	}
	return all
}

// and returns keys and others, each once.
func and(keys, others [][]byte) [][]byte {
	return append(slices.Clone(keys), except(others, keys)...)
}

// except returns the keys that are none of others.
func except(keys, others [][]byte) (rest [][]byte) {
	for _, key := range keys {
		if !slices.ContainsFunc(others, func(k []byte) bool { return slices.Equal(k, key) }) {
			rest = append(rest, key)
		}
	}
	return rest
}

// belongs reports whether a public key is that of a private one.
func belongs(public crypto.PublicKey, key crypto.Signer) bool {
	p, is := public.(interface{ Equal(crypto.PublicKey) bool })
	return is && p.Equal(key.Public())
}

// issuerOf returns the authority of a certificate, with its key out of several.
func issuerOf(c *x509.Certificate, keys []crypto.Signer) (*Authority, error) {
	for _, key := range keys {
		if belongs(c.PublicKey, key) {
			return OpenAuthority(c, key)
		}
	}
	return nil, errors.New("the key of the authority is not on this machine")
}

// SaveNext stores secrets that will be used later, and forgets those that were stored so before.
func SaveNext(dir string, next *Secrets) error {
	keys, err := encodeKeys(next.Authorities)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{nextAuthorityFile: keys, nextSealingFile: encodeSealing(next.Sealing)} { // order-free: separate files
		path := filepath.Join(dir, name)
		if len(text) == 0 {
			err = os.Remove(path)
		} else {
			err = smallfile.WriteBytes(path, text)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// LoadNext returns the secrets of [SaveNext].
func LoadNext(dir string) (*Secrets, error) {
	next := &Secrets{}
	text, err := readFile(dir, nextAuthorityFile)
	switch {
	case err == nil:
		if next.Authorities, _, err = decode(text); err != nil {
			return nil, damaged(dir, nextAuthorityFile, "it does not hold private keys", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	next.Sealing, err = readSealing(dir, nextSealingFile)
	return next, err
}

// Keys by which texts of users are sealed, as in package sealing.
const (
	sealingKey = 32 // bytes
	maxSealing = 16 // of a ring
)

func encodeSealing(keys [][]byte) []byte {
	var out []byte
	for _, key := range keys {
		out = append(hex.AppendEncode(out, key), '\n')
	}
	return out
}

// readSealing returns the keys by which texts of users are sealed; none: there is no file.
func readSealing(dir, name string) ([][]byte, error) {
	text, err := readFile(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for line := range strings.Lines(string(text)) {
		key, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil || len(key) != sealingKey || len(keys) == maxSealing {
			return nil, damaged(dir, name, fmt.Sprintf("it does not hold at most %d keys of %d hexadecimal digits", maxSealing, 2*sealingKey), nil)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// saveLink stores the link of a material, or removes a former one.
func saveLink(dir string, link *x509.Certificate) error {
	path := filepath.Join(dir, linkFile)
	if link != nil {
		return smallfile.WriteBytes(path, encode(blockCertificate, link.Raw))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readLink returns the link of a folder; nil: there is none.
func readLink(dir string) (*x509.Certificate, error) {
	text, err := readFile(dir, linkFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil {
		return nil, err
	}
	keys, list, err := decode(text)
	if err != nil || len(keys) > 0 || len(list) != 1 {
		return nil, damaged(dir, linkFile, "it does not hold one certificate", err)
	}
	return list[0], nil
}

// Except returns these secrets without others.
func (s *Secrets) Except(others *Secrets) *Secrets {
	rest := &Secrets{Sealing: except(s.Sealing, others.Sealing)}
	for _, key := range s.Authorities {
		if !slices.ContainsFunc(others.Authorities, func(k crypto.Signer) bool { return belongs(k.Public(), key) }) {
			rest.Authorities = append(rest.Authorities, key)
		}
	}
	return rest
}
