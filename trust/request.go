package trust

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
)

// maxRequest bounds a request for a certificate, in bytes.
const maxRequest = 4 << 10

// NewRequest returns a request for a certificate with this key (PKCS #10, RFC 2986). It proves that the requester has
// the key and says nothing else: the identity follows from how the request is authenticated.
func NewRequest(key crypto.Signer) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
}

// ParseRequest returns the public key of a request. Names and extensions that a request contains are ignored.
func ParseRequest(der []byte) (crypto.PublicKey, error) {
	if len(der) > maxRequest {
		return nil, fmt.Errorf("the certificate request has %d bytes, more than %d", len(der), maxRequest)
	}
	r, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("the certificate request cannot be read: %w", err)
	}
	if err := r.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the certificate request is not signed with its own key: %w", err)
	}
	switch key := r.PublicKey.(type) {
	case ed25519.PublicKey:
		return key, nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() {
			return key, nil
		}
	}
	return nil, errors.New("the key of the certificate request is not ECDSA on P-256 or P-384, or Ed25519")
}
