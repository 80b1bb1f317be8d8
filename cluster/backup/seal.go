package backup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"

	"github.com/berth-gpu/berth/trust"
)

// Seal is what keys in a backup are sealed to: recipients, or one passphrase. The zero Seal leaves the keys out.
type Seal struct {
	to    []age.Recipient
	names []string
}

// None reports whether the seal leaves the keys out.
func (s *Seal) None() bool { return len(s.to) == 0 }

// maxRecipients bounds the recipients of one backup.
const maxRecipients = 16

// ForRecipients returns the seal that each of some recipients of age opens ("age1...", as age-keygen prints them).
func ForRecipients(list ...string) (Seal, error) {
	var s Seal
	if len(list) > maxRecipients {
		return s, fmt.Errorf("%d recipients, more than %d", len(list), maxRecipients)
	}
	for _, text := range list {
		r, err := age.ParseX25519Recipient(text)
		if err != nil {
			return Seal{}, fmt.Errorf("recipient %.100q is none of age: age-keygen prints one that begins with age1", text)
		}
		s.to, s.names = append(s.to, r), append(s.names, r.String())
	}
	return s, nil
}

// leastPassphrase is the least length of a passphrase, in bytes. The work factor of age's scrypt makes each guess take about a second.
const leastPassphrase = 12

// ForPassphrase returns the seal of a passphrase.
func ForPassphrase(text string) (Seal, error) {
	if len(text) < leastPassphrase {
		return Seal{}, fmt.Errorf("the passphrase has %d bytes: at least %d are needed, since the file may be copied and guesses made for years", len(text), leastPassphrase)
	}
	r, err := age.NewScryptRecipient(text)
	if err != nil {
		return Seal{}, err
	}
	return Seal{[]age.Recipient{r}, []string{Passphrase}}, nil
}

// Opener opens sealed keys.
type Opener = age.Identity

// ByPassphrase returns what opens the keys that [ForPassphrase] has sealed.
func ByPassphrase(text string) (Opener, error) { return age.NewScryptIdentity(text) }

// ByIdentities reads the private keys of recipients, as age-keygen writes them.
func ByIdentities(r io.Reader) ([]Opener, error) {
	list, err := age.ParseIdentities(r)
	if err != nil {
		return nil, fmt.Errorf("the file holds no private key of age, as age-keygen writes them: %w", err)
	}
	return list, nil
}

// NewIdentity draws a private key for one use, and returns its recipient.
func NewIdentity() (Opener, string, error) {
	i, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", err
	}
	return i, i.Recipient().String(), nil
}

// sealed are the secrets of a cluster inside of the seal.
type sealed struct {
	Authorities [][]byte `json:"authorities"` // PKCS #8
	Sealing     [][]byte `json:"sealing,omitempty"`
}

// seal returns the secrets of a cluster as a file of age.
func (s *Seal) seal(secrets *trust.Secrets) ([]byte, error) {
	keys, err := trust.MarshalKeys(secrets.Authorities)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(sealed{keys, secrets.Sealing})
	if err != nil {
		return nil, err
	}
	return s.sealText(text)
}

func (s *Seal) sealText(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, s.to...)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// ErrSealed means that none of the given keys or passphrases opens the keys of a backup.
var ErrSealed = errors.New("the keys in the backup cannot be opened")

// openText returns what was sealed. keysFor describes for what, see [Description.Keys].
func openText(file []byte, keysFor []string, by ...Opener) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(file), by...)
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(r); err == nil {
			return text, nil
		}
	}
	if wrong := (*age.NoIdentityMatchError)(nil); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%w: they were sealed for %s: give the passphrase of that time, or the private key of that recipient", ErrSealed, strings.Join(keysFor, ", "))
	}
	return nil, damaged("%s: %v", partKeys, err)
}

// Open returns the secrets in a backup.
func (b *Backup) Open(by ...Opener) (*trust.Secrets, error) {
	if len(b.keys) == 0 {
		return nil, errors.New("the backup has no keys: it was made without a recipient and a passphrase")
	}
	text, err := openText(b.keys, b.Description.Keys, by...)
	if err != nil {
		return nil, err
	}
	var s sealed
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, damaged("%s: %v", partKeys, err)
	}
	keys, err := trust.ParseKeys(s.Authorities)
	if err != nil {
		return nil, damaged("%s: %v", partKeys, err)
	}
	return &trust.Secrets{Authorities: keys, Sealing: s.Sealing}, nil
}
