// Package sealing keeps texts of users secret on disk: scripts, environments, inputs of jobs and secrets of webhooks enter the
// log sealed, under a key that is outside of the data folders of peers and never enters the log.
//
// A sealed text is XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under a key of 256 bits. Its nonce is a hash (HMAC-SHA-256)
// of the text under a second key, which follows from the first: equal texts have equal sealed forms, so that jobs share what
// they have in common, and a reader without the key learns from two sealed texts whether they are equal, and how long they are
// (RFC 5297 describes this kind of encryption).
package sealing

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/berth-gpu/berth/fsm/model"
)

// KeySize is the size of a key, in bytes.
const KeySize = chacha20poly1305.KeySize

// MaxKeys bounds the keys of a ring.
const MaxKeys = 16

// ErrNoKey means that a text was sealed by a key that the ring does not have.
var ErrNoKey = errors.New("the key of this text is not on this machine")

// NewKey draws a key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails
	return key
}

// KeyID returns the name of a key: a hash, from which the key does not follow.
func KeyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("berth sealing "), key...))
	return hex.EncodeToString(sum[:8])
}

// Ring holds the keys of a cluster. The first one seals, and all open. A ring is safe for concurrent use. The nil ring seals
// nothing: it returns texts as they are, for tests and simulations.
type Ring struct {
	path string // of its file; empty: none

	mu    sync.Mutex
	keys  []key
	ready chan struct{} // closed once there is a key
	lacks chan struct{} // receives after a text could not be opened for want of its key
}

// key is one key, ready for use.
type key struct {
	id     string
	bytes  []byte
	mac    []byte // of nonces
	cipher cipher.AEAD
}

// NewRing returns a ring that is kept in memory only.
func NewRing(keys ...[]byte) (*Ring, error) {
	r := &Ring{ready: make(chan struct{}), lacks: make(chan struct{}, 1)}
	return r, r.Add(keys...)
}

func newKey(bytes []byte) (key, error) {
	if len(bytes) != KeySize {
		return key{}, fmt.Errorf("a key of %d bytes, where all have %d", len(bytes), KeySize)
	}
	c, err := chacha20poly1305.NewX(bytes)
	return key{KeyID(bytes), slices.Clone(bytes), hashed(bytes, "berth sealing nonce"), c}, err
}

func hashed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // a hash takes everything
	return h.Sum(nil)
}

// Keys returns the keys, the one that seals first.
func (r *Ring) Keys() (out [][]byte) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.keys {
		out = append(out, slices.Clone(r.keys[i].bytes))
	}
	return out
}

// Ready returns a channel that is closed once the ring has a key.
func (r *Ring) Ready() <-chan struct{} {
	if r == nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return r.ready
}

// Lacks returns a channel that receives after a text could not be opened because the ring does not have its key.
func (r *Ring) Lacks() <-chan struct{} { return r.lacks }

// Add takes in keys that are not known yet, behind the others, and stores the ring.
func (r *Ring) Add(keys ...[]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := slices.Clone(r.keys)
	for _, bytes := range keys {
		if slices.ContainsFunc(next, func(k key) bool { return hmac.Equal(k.bytes, bytes) }) {
			continue
		}
		k, err := newKey(bytes)
		if err != nil {
			return err
		}
		if next = append(next, k); len(next) > MaxKeys {
			return fmt.Errorf("more than %d keys: remove those by which nothing is sealed any more", MaxKeys)
		}
	}
	if len(next) == len(r.keys) {
		return nil
	}
	if err := save(r.path, next); err != nil {
		return err
	}
	if len(r.keys) == 0 {
		close(r.ready)
	}
	r.keys = next
	return nil
}

// Seal returns a text sealed. The empty text stays as it is, and so does one that is sealed.
func (r *Ring) Seal(text string) (string, error) {
	if r == nil || text == "" || model.Sealed(text) {
		return text, nil
	}
	r.mu.Lock()
	keys := r.keys
	r.mu.Unlock()
	if len(keys) == 0 {
		return "", errors.New("this peer does not have the key by which texts of users are sealed")
	}
	k := &keys[0]
	out := hashed(k.mac, text)[:chacha20poly1305.NonceSizeX]
	out = k.cipher.Seal(out, out, []byte(text), nil)
	return model.SealedPrefix + k.id + ":" + base64.RawStdEncoding.EncodeToString(out), nil
}

// Open returns a text that [Ring.Seal] has sealed. A text that is not sealed is returned as it is: older than the first key.
func (r *Ring) Open(text string) (string, error) {
	rest, is := strings.CutPrefix(text, model.SealedPrefix)
	if !is {
		return text, nil
	}
	id, rest, _ := strings.Cut(rest, ":")
	k, err := r.find(id)
	if err != nil {
		return "", err
	}
	sealed, err := base64.RawStdEncoding.DecodeString(rest)
	if err != nil || len(sealed) < chacha20poly1305.NonceSizeX {
		return "", errors.New("the sealed text is damaged")
	}
	nonce, sealed := sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:]
	out, err := k.cipher.Open(nil, nonce, sealed, nil)
	if err != nil {
		return "", fmt.Errorf("the sealed text is damaged: %w", err)
	}
	return string(out), nil
}

func (r *Ring) find(id string) (*key, error) {
	if r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := range r.keys {
			if r.keys[i].id == id {
				return &r.keys[i], nil
			}
		}
		select {
		case r.lacks <- struct{}{}:
		default:
		}
	}
	return nil, fmt.Errorf("%w: key %s; put the file of keys (server.secrets_key) of another peer, or of a backup, in its place", ErrNoKey, id)
}
