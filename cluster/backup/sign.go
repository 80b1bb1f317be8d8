package backup

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berth-gpu/berth/trust"
)

// partSignature is the last part of a backup: the signature of the peer that has written it, over the hashes of the other parts.
const partSignature = "SIGNATURE"

// signature is that part, in JSON.
type signature struct {
	Certificate string `json:"certificate"` // of the peer, in PEM
	Signature   []byte `json:"signature"`   // ECDSA with SHA-256, of signed
}

// signed returns what is signed, out of the hashes of the parts: all of them and the description, without the keys and the recipients of
// the keys. Keys are sealed again on the way to where the backup is kept, by a machine that has no key of a peer; those in a backup must be
// those of the authorities that are described. The first line makes sure that no other signature of the key fits. Of a description that was
// read all fields count, also those that this program does not know.
func (d *Description) signed(sums []byte) ([]byte, error) {
	text, err := d.text, error(nil)
	if text == nil {
		text, err = json.Marshal(d)
	}
	var fields map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil, err
	}
	delete(fields, "keys_for")
	if text, err = json.Marshal(fields); err != nil { // in order of the names, without spaces
		return nil, err
	}
	out := fmt.Appendf(nil, "berth backup\n%x  %s\n", sha256.Sum256(text), partDescription)
	for line := range bytes.Lines(sums) {
		if name := bytes.TrimSuffix(line, []byte("\n")); !bytes.HasSuffix(name, []byte("  "+partKeys)) &&
			!bytes.HasSuffix(name, []byte("  "+partDescription)) {
			out = append(out, line...)
		}
	}
	return out, nil
}

// sign returns the signature of a peer over the hashes of the parts.
func (d *Description) sign(by *trust.Material, sums []byte) ([]byte, error) {
	content, err := d.signed(sums)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(content)
	text, err := by.Key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return json.Marshal(&signature{string(trust.EncodeCertificates(by.Certificate)), text})
}

// ErrUnsigned means that a backup has no proof of its origin.
var ErrUnsigned = errors.New("the backup is not signed: users, tokens and jobs may have been added to the file; take another, or give --unsigned if you know where the file has been")

// verify checks the signature over the hashes of the parts: it must be that of the peer that the description names, whose
// certificate one of the described authorities has signed. When the file was made is what that peer says, so a comparison with the
// certificate's period would show nothing: a peer whose certificate has expired, or whose clock is wrong, still makes backups.
func (d *Description) verify(sums, part []byte) (signer *x509.Certificate, err error) {
	var s signature
	if err := json.Unmarshal(part, &s); err != nil {
		return nil, damaged("%s cannot be read: %v", partSignature, err)
	}
	list, err := trust.DecodeCertificates([]byte(s.Certificate), 1)
	if err != nil {
		return nil, damaged("%s has no certificate: %v", partSignature, err)
	}
	bundle, err := d.Bundle()
	if err != nil {
		return nil, damaged("%s: %v", partDescription, err)
	}
	if err := d.isOf(list[0], bundle.Authorities); err != nil {
		return nil, damaged("the signature is of no peer of the cluster, so the backup was altered: %v", err)
	}
	content, err := d.signed(sums)
	if err != nil {
		return nil, err
	}
	if err := list[0].CheckSignature(x509.ECDSAWithSHA256, content, s.Signature); err != nil {
		return nil, damaged("the signature is not that of peer %s, so the backup was altered", d.Peer)
	}
	return list[0], nil
}

// isOf returns an error unless a certificate is one of the peer that the description names, by one of the authorities.
func (d *Description) isOf(signer *x509.Certificate, authorities []*x509.Certificate) error {
	rules := trust.Rules{
		Cluster: d.Cluster, Generation: d.Generation, Role: trust.RolePeer, Name: d.Peer, Roots: authorities, Now: trust.IssuedAt(signer),
	}
	_, err := rules.Verify([]*x509.Certificate{signer})
	return err
}
