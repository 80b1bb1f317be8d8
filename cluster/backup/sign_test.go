package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/berth-gpu/berth/trust"
)

// piece is a part of a backup.
type piece struct {
	name    string
	content []byte
}

// piecesOf takes a backup apart.
func piecesOf(t *testing.T, file []byte) (out []piece) {
	t.Helper()
	in := tar.NewReader(bytes.NewReader(unpacked(t, file)))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, piece{h.Name, content})
	}
}

// packed packs parts as another program would: with hashes that fit, in records of 10,240 bytes.
func packed(t *testing.T, parts []piece, sums bool) []byte {
	t.Helper()
	var plain bytes.Buffer
	w := &writer{tar: tar.NewWriter(&plain)}
	for _, p := range parts {
		if p.name == partSums && sums {
			p.content = bytes.Clone(w.sums.Bytes())
		}
		if err := w.bytes(p.name, p.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.tar.Close(); err != nil {
		t.Fatal(err)
	}
	const record = 10240
	plain.Write(make([]byte, record-plain.Len()%record))
	zip, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return zip.EncodeAll(plain.Bytes(), nil)
}

// A backup counts only as its peer has signed it: any writer of the file can make hashes that fit, and no signature. One that
// was only packed again is read.
func TestABackupIsSigned(t *testing.T) {
	t.Parallel()
	s := sourceOf(t)
	file := written(t, s, &Seal{})
	if b, err := Read(bytes.NewReader(file), ""); err != nil || !b.Signed {
		t.Fatalf("%+v, %v", b, err)
	}
	other := sourceOf(t) // another cluster
	other.State = s.State
	forged := written(t, other, &Seal{})
	for what, v := range alterations(t, s, forged) {
		b, err := Read(bytes.NewReader(packed(t, v.change(piecesOf(t, file)), true)), "")
		switch {
		case v.want == "" && (err != nil || !b.Signed):
			t.Errorf("%s: %v", what, err)
		case v.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), v.want)):
			t.Errorf("%s: %v, want %q", what, err, v.want)
		}
	}
	parts := piecesOf(t, file)
	if b, err := Read(bytes.NewReader(packed(t, parts[:len(parts)-1], true)), ""); err != nil || b.Signed {
		t.Errorf("without a signature: %v", err)
	}
}

// alteration is a change of the parts of a backup, and the error of reading the changed backup; empty: it is read.
type alteration struct {
	change func([]piece) []piece
	want   string
}

// alterations returns changes of a backup of a source; forged is a backup of another cluster.
func alterations(t *testing.T, s *Source, forged []byte) map[string]alteration {
	t.Helper()
	node, err := s.Trust.Certify(trust.Member{Role: trust.RoleNode, Name: "p1"}, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	otherPeer, err := s.Trust.Certify(trust.Member{Role: trust.RolePeer, Name: "p2"}, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	signedBy := func(by *trust.Material) func([]piece) []piece {
		return func(p []piece) []piece {
			text, err := s.Describe(&Seal{}).sign(by, p[len(p)-2].content)
			if err != nil {
				t.Fatal(err)
			}
			p[len(p)-1].content = text
			return p
		}
	}
	return map[string]alteration{
		"packed again": {func(p []piece) []piece { return p }, ""},
		"the archive":  {func(p []piece) []piece { p[2].content = []byte("another archive"); return p }, "not that of peer p1"},
		"the description": {func(p []piece) []piece {
			var d Description
			if err := json.Unmarshal(p[0].content, &d); err != nil {
				t.Fatal(err)
			}
			d.Name = "another name"
			p[0].content, _ = json.Marshal(&d)
			return p
		}, "not that of peer p1"},
		"the signature of another cluster": {func(p []piece) []piece { p[len(p)-1] = piecesOf(t, forged)[len(p)-1]; return p }, "of no peer of the cluster"},
		"signed by a node":                 {signedBy(node), "of no peer of the cluster"},
		"signed by another peer":           {signedBy(otherPeer), "of no peer of the cluster"},
		"no signature that can be read":    {func(p []piece) []piece { p[len(p)-1].content = []byte("x"); return p }, "cannot be read"},
		"another order":                    {func(p []piece) []piece { p[0], p[1] = p[1], p[0]; return p }, "packed again in another order"},
		"something behind":                 {func(p []piece) []piece { return append(p, piece{"more", nil}) }, "follows"},
	}
}

// A peer whose certificate has expired while the cluster could renew none, and one whose clock is wrong, make backups that count.
func TestABackupOfAnyTimeIsSigned(t *testing.T) {
	t.Parallel()
	s := sourceOf(t)
	now := s.Now
	for _, off := range []time.Duration{-20 * 365 * 24 * time.Hour, -2 * trust.Backdate, trust.Life + time.Hour, 2 * trust.AuthorityLife} {
		s.Now = now.Add(off)
		if b, err := Read(bytes.NewReader(written(t, s, &Seal{})), ""); err != nil || !b.Signed {
			t.Errorf("made %s after the certificate: %v", off, err)
		}
	}
}

// Wherever the damage is, the message says once that the backup is damaged.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	file := written(t, sourceOf(t), &Seal{})
	for n := len(file) / 10; n < len(file); n += len(file) / 10 {
		flipped := bytes.Clone(file)
		flipped[n] ^= 0xff
		for what, bad := range map[string][]byte{"cut off": file[:n], "flipped": flipped} {
			_, err := Read(bytes.NewReader(bad), t.TempDir())
			if err == nil || strings.Count(err.Error(), ErrDamaged.Error()) != 1 {
				t.Errorf("%s at %d: %v", what, n, err)
			}
		}
	}
}

// The signature covers all fields of a description, also those of later programs, and does not depend on how the text is laid out.
func TestFieldsOfLaterPrograms(t *testing.T) {
	t.Parallel()
	s := sourceOf(t)
	d := s.Describe(&Seal{})
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	text = append(bytes.TrimSuffix(text, []byte("}")), []byte(`,"later":{"a": 1.50}}`)...)
	later, err := parseDescription(text)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := later.sign(s.Trust, nil)
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	for what, v := range map[string]struct {
		text string
		good bool
	}{
		"as it was":    {string(text), true},
		"indented":     {indented.String(), true},
		"other keys":   {strings.Replace(string(text), "{", `{"keys_for":["x"],`, 1), true},
		"altered":      {strings.Replace(string(text), "1.50", "1.51", 1), false},
		"less a field": {strings.Replace(string(text), `,"later":{"a": 1.50}`, "", 1), false},
	} {
		read, err := parseDescription([]byte(v.text))
		if err == nil {
			_, err = read.verify(nil, signature)
		}
		if (err == nil) != v.good {
			t.Errorf("%s: %v", what, err)
		}
	}
}
