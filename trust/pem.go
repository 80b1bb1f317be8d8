package trust

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

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
			more, err := ParseKeys([][]byte{block.Bytes})
			if err != nil {
				return nil, nil, err
			}
			keys = append(keys, more...)
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

// encodeKeys returns private keys as PEM.
func encodeKeys(keys []crypto.Signer) ([]byte, error) {
	var out []byte
	for _, key := range keys {
		text, err := EncodeKey(key)
		if err != nil {
			return nil, err
		}
		out = append(out, text...)
	}
	return out, nil
}

// MarshalKeys returns private keys as PKCS #8, for other peers.
func MarshalKeys(keys []crypto.Signer) (out [][]byte, err error) {
	for _, key := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		out = append(out, der)
	}
	return out, nil
}

// ParseKeys reads private keys (PKCS #8).
func ParseKeys(list [][]byte) (keys []crypto.Signer, err error) {
	for _, der := range list {
		key, err := x509.ParsePKCS8PrivateKey(der)
		if err != nil {
			return nil, err
		}
		signer, is := key.(crypto.Signer)
		if !is {
			return nil, errors.New("a key that cannot sign")
		}
		keys = append(keys, signer)
	}
	return keys, nil
}
