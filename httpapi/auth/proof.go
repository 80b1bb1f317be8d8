package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// HeaderProof proves that a request comes from a peer, and identifies its caller:
//
//	v1 MILLISECONDS BODY CREDENTIAL MAC
//
// with the sender's clock since 1970, the SHA-256 of the body, that of the caller's credential
// (zeros: it is the peer's own request), and an HMAC-SHA256 under the cluster's secret over these,
// the method, the target, the peer's name, the address of the client and the Idempotency-Key. A
// request that is replayed within the window is the same request under the same key, which is
// carried out once.
const HeaderProof = "X-Berth-Proof"

// proofWindow is how far the clocks of two peers may be apart, and how long a proof is valid.
const proofWindow = time.Minute

// Prover proves to other peers that this one is a peer, and checks their proofs.
type Prover struct {
	Self   model.PeerID
	Header func() string // of keys, which is removed; see [Keys]; nil: none
	Secret func() model.Secret
	Now    func() time.Time
}

// ErrProof is the error of a proof that is not valid.
var ErrProof = errors.New("the proof that this request comes from a peer is not valid")

// Sign replaces the caller's credential in a request by a proof. While the cluster has no secret
// the request keeps the credential.
func (p *Prover) Sign(r *http.Request, body []byte) {
	secret := p.Secret()
	r.Header.Del(HeaderProof)
	if secret.IsZero() {
		return
	}
	named := ""
	if p.Header != nil {
		named = p.Header()
	}
	strip(r.Header, named)
	sum := sha256.Sum256(body)
	credential := From(r.Context()).Credential
	said := fmt.Sprintf("v1 %d %x %x", p.Now().UnixMilli(), sum, credential[:])
	r.Header.Set(wire.HeaderForwarded, string(p.Self))
	r.Header.Set(HeaderProof, said+" "+hex.EncodeToString(p.mac(secret, r, said)))
}

// mac returns a MAC over the claims and the request. Its parts hold no line break: the header's
// cannot, and an escaped target does not.
func (p *Prover) mac(secret model.Secret, r *http.Request, said string) []byte {
	m := hmac.New(sha256.New, secret[:])
	for _, part := range []string{
		said, r.Method, r.URL.RequestURI(), r.Header.Get(wire.HeaderForwarded), r.Header.Get(wire.HeaderClient), r.Header.Get(wire.HeaderRequestID),
	} {
		_, _ = io.WriteString(m, part) // a hash never fails
		_, _ = m.Write([]byte{'\n'})
	}
	return m.Sum(nil)
}

// Check returns the caller of a request with a proof: the hash of the credential that the caller
// has sent to the other peer, zero if the request is that peer's own. From then on reading the body
// to its end fails if it is not the body of the proof.
func (p *Prover) Check(r *http.Request) (credential model.Hash, err error) {
	secret := p.Secret()
	proof := r.Header.Get(HeaderProof)
	at := strings.LastIndexByte(proof, ' ')
	if secret.IsZero() || at < 0 {
		return credential, ErrProof
	}
	said := proof[:at]
	mac, err := hex.DecodeString(proof[at+1:])
	parts := strings.Split(said, " ")
	if err != nil || len(parts) != 4 || parts[0] != "v1" || !hmac.Equal(mac, p.mac(secret, r, said)) {
		return credential, ErrProof
	}
	sent, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || p.Now().Sub(time.UnixMilli(sent)).Abs() > proofWindow {
		return credential, fmt.Errorf("%w: its time is too far from this peer's clock: check the clocks of the peers", ErrProof)
	}
	var body model.Hash
	if !unhex(body[:], parts[2]) || !unhex(credential[:], parts[3]) {
		return credential, ErrProof
	}
	if r.ContentLength == 0 && body != sha256.Sum256(nil) {
		return credential, ErrProof
	}
	r.Body = &meant{ReadCloser: r.Body, sum: sha256.New(), want: body}
	return credential, nil
}

func unhex(to []byte, text string) bool {
	n, err := hex.Decode(to, []byte(text[:min(len(text), 2*len(to))]))
	return err == nil && n == len(to) && len(text) == 2*len(to)
}

// meant is a body that must have a certain hash.
type meant struct {
	io.ReadCloser

	sum  hash.Hash
	want model.Hash
}

// Read fails at the end if the body is another one.
func (m *meant) Read(data []byte) (int, error) {
	n, err := m.ReadCloser.Read(data)
	_, _ = m.sum.Write(data[:n]) // a hash never fails
	if err == io.EOF && model.Hash(m.sum.Sum(nil)) != m.want {
		return n, ErrProof
	}
	return n, err
}
